package io.kvasir.llmd;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** What conf/MIGRATE.md says of llm-d is what the translation knows. */
final class MigrationGuideTest {
  private final String section = section();

  @Test
  void pluginsOfTheTables_areKnown() {
    List<String> plugins = quoted("[a-z0-9-]+-(?:filter|scorer|picker|producer|handler|detector|source)");
    assertThat(plugins).hasSizeGreaterThan(15).allSatisfy(plugin -> assertThat(LlmdPlugin.of(plugin)).isNotNull());
  }

  @Test
  void argumentsOfTheTables_areKnown() {
    assertThat(quoted("--[a-z-]+"))
        .hasSizeGreaterThan(10)
        .filteredOn(flag -> !List.of("--json", "--print", "--kv-connector").contains(flag))
        .isSubsetOf(Arrays.stream(PickerArgument.values()).map(PickerArgument::flag).toList());
  }

  @Test
  void everyMetricOfTheTables_isMade_ofTheMetricBesideIt() {
    for (MetricAlias alias : MetricAlias.values()) {
      String name = alias.metricName() + (alias.shape() == MetricAlias.Shape.COUNT ? "_total" : "");
      String row =
          section.lines().filter(line -> line.contains("`" + name + "`")).findFirst().orElse("the deviations");
      assertThat(row).as(name).containsAnyOf(alias.source(), "the deviations");
    }
    List<String> made = Arrays.stream(MetricAlias.values()).map(MetricAlias::metricName).toList();
    assertThat(quoted("llm_d_epp_[a-z0-9_]+"))
        .allSatisfy(name -> assertThat(made).contains(name.replaceFirst("_total$", "")));
  }

  private List<String> quoted(String pattern) {
    return Pattern.compile("`(" + pattern + ")`").matcher(section).results().map(MigrationGuideTest::name).toList();
  }

  private static String name(MatchResult quoted) {
    return quoted.group(1);
  }

  private static String section() {
    try {
      String guide = Files.readString(Path.of("conf/MIGRATE.md"));
      return guide.substring(guide.indexOf("## From llm-d\n"), guide.indexOf("## From Dynamo"));
    } catch (IOException unreadable) {
      throw new AssertionError(unreadable);
    }
  }
}
