package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigResolveOptions;
import io.kvasir.gateway.admin.ConfigHandler.Setting;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The files of {@code conf/defaults}, which {@code conf/kvasir.conf} puts together. */
final class DefaultsTest {
  private static final Path CONF = Path.of("conf");
  private static final Pattern INCLUDE = Pattern.compile("include required\\(\"(defaults/\\S+)\"\\)");
  private static final Config DEFAULTS = ConfigFactory.parseResources("kvasir.conf");

  /** Every setting and its default: a change here changes what routers do that were started without the setting. */
  @Test
  void allFilesTogether_haveEverySettingWithItsDefault() throws Exception {
    List<String> settings =
        effective().stream().map(setting -> setting.path() + " = " + setting.value()).sorted().toList();

    assertThat(settings).isEqualTo(lines("defaults.txt"));
  }

  @Test
  void kvasirConf_includesEveryFileOnce_andSaysNothingItself() throws Exception {
    String text = Files.readString(CONF.resolve("kvasir.conf"));
    List<String> included = INCLUDE.matcher(text).results().map(found -> found.group(1)).toList();
    try (Stream<Path> files = Files.list(CONF.resolve("defaults"))) {
      assertThat(included)
          .containsExactlyInAnyOrderElementsOf(files.map(file -> "defaults/" + file.getFileName()).toList());
    }
    assertThat(text.lines().filter(line -> !line.isBlank() && !line.startsWith("#")))
        .allMatch(line -> INCLUDE.matcher(line).matches());
  }

  /** An operator who looks for a default finds the file and the line where it is explained. */
  @Test
  void defaults_nameTheFileAndLineTheyAreFrom() throws Exception {
    for (Setting setting : effective()) {
      Matcher from = Pattern.compile("(defaults/\\w+\\.conf):(\\d+)").matcher(setting.from());
      assertThat(from.matches()).as(setting.path() + " from " + setting.from()).isTrue();
      String key = setting.path().substring(setting.path().lastIndexOf('.') + 1);
      assertThat(Files.readAllLines(CONF.resolve(from.group(1))).get(Integer.parseInt(from.group(2)) - 1))
          .contains(key);
    }
  }

  private static List<Setting> effective() {
    Config resolved = DEFAULTS.resolve(ConfigResolveOptions.noSystem());
    return EffectiveSettings.of(resolved, resolved);
  }

  private static List<String> lines(String resource) throws IOException {
    try (InputStream in = Objects.requireNonNull(DefaultsTest.class.getResourceAsStream(resource))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
    }
  }
}
