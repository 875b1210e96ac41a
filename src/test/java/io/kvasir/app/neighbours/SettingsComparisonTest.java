package io.kvasir.app.neighbours;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.TextNode;
import io.kvasir.app.neighbours.SettingsComparison.Difference;
import io.kvasir.gateway.admin.ConfigHandler.Setting;
import io.kvasir.gateway.admin.ConfigHandler.Source;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class SettingsComparisonTest {
  private static final byte[] PEPPER = {1, 2, 3};

  private static Setting setting(String path, String value) {
    return new Setting(path, TextNode.valueOf(value), Source.FILE, "kvasir.conf:1");
  }

  private static byte[] node(Setting... settings) {
    return SettingsCodec.write(List.of(settings), PEPPER);
  }

  @Test
  void valuesThatDiffer_orAreOnOneNodeOnly_areTold_andWhatIsEachNodesOwnIsNot() throws Exception {
    byte[] here = node(
        setting("kvasir.routing.profile", "a"), setting("kvasir.same", "s"), setting("kvasir.cluster.host", "h1"),
        setting("kvasir.management.tls.key", "/h1.key"), setting("kvasir.pods[0].url", "http://p"));
    byte[] there = node(
        setting("kvasir.routing.profile", "b"), setting("kvasir.same", "s"), setting("kvasir.cluster.host", "h2"),
        setting("kvasir.management.tls.key", "/h2.key"));

    assertThat(SettingsComparison.of(here, there))
        .isEqualTo(
            new SettingsComparison(
                2,
                List.of(
                    new Difference("kvasir.pods[0].url", "\"http://p\"", null),
                    new Difference("kvasir.routing.profile", "\"a\"", "\"b\""))));
  }

  @Test
  void secrets_areCompared_andNotTold() throws Exception {
    byte[] here = node(setting("kvasir.pods[0].api-key", "of-the-engine"));
    byte[] there = node(setting("kvasir.pods[0].api-key", "another"));

    assertThat(SettingsComparison.of(here, here)).isEqualTo(new SettingsComparison(0, List.of()));
    assertThat(SettingsComparison.of(here, there))
        .isEqualTo(
            new SettingsComparison(
                1, List.of(new Difference("kvasir.pods[0].api-key", "\"***\"", "\"***\""))));
    assertThat(SettingsCodec.read(here).toString()).doesNotContain("of-the-engine");
    byte[] otherQuestion =
        SettingsCodec.write(List.of(setting("kvasir.pods[0].api-key", "of-the-engine")), new byte[] {4});
    assertThat(SettingsCodec.read(otherQuestion)).isNotEqualTo(SettingsCodec.read(here));
  }

  @Test
  void ofMany_theFirstAreTold_andOfTooManyNothing() throws Exception {
    Setting[] many = new Setting[60];
    Arrays.setAll(many, i -> setting("kvasir.pods[%02d].url".formatted(i), "http://p"));
    SettingsComparison comparison = Objects.requireNonNull(SettingsComparison.of(node(many), node()));
    assertThat(comparison.differing()).isEqualTo(60);
    assertThat(comparison.differences()).hasSize(50);

    List<Setting> tooMany = new ArrayList<>();
    Random random = new Random(1);
    for (int i = 0; i < 20_000; i++) {
      tooMany.add(setting("kvasir.x" + i, Long.toHexString(random.nextLong())));
    }
    assertThat(SettingsComparison.of(SettingsCodec.write(tooMany, PEPPER), node())).isNull();
  }
}
