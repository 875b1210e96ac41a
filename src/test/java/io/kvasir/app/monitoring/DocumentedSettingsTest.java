package io.kvasir.app.monitoring;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigResolveOptions;
import io.kvasir.doctor.check.Checks;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Settings that the guides name are those of the defaults, and what else they list is there. */
final class DocumentedSettingsTest {
  private static final List<Path> GUIDES =
      List.of(
          Path.of("conf/MIGRATE.md"),
          Path.of("cluster-configs/SIZING.md"),
          Path.of("cluster-configs/TROUBLESHOOTING.md"));

  /** In backquotes, at least two names with a dot between them, perhaps with a value. */
  private static final Pattern SETTING = Pattern.compile("`([a-z][a-z0-9-]*(?:\\.[a-z][a-z0-9-]*)+)(?: = [^`]*)?`");

  private static final Set<String> FILES = Set.of("json", "conf", "yaml", "jsonl");
  private static final Pattern LINK = Pattern.compile("]\\(([^)#:]+)(?:#[^)]*)?\\)");

  @Test
  void settings_areThoseOfTheDefaults() throws Exception {
    Config defaults = ConfigFactory.parseResources("kvasir.conf").resolve(ConfigResolveOptions.noSystem());
    Set<String> unknown = new TreeSet<>();
    for (Path guide : GUIDES) {
      SETTING.matcher(Files.readString(guide)).results()
          .map(setting -> setting.group(1))
          .filter(setting -> !FILES.contains(setting.substring(setting.lastIndexOf('.') + 1)))
          .filter(setting -> Stream.of("", "pod-defaults.", "model-defaults.")
              .noneMatch(where -> defaults.hasPathOrNull("kvasir." + where + setting)))
          .forEach(unknown::add);
    }
    // A pod's own, which have no default.
    assertThat(unknown).isSubsetOf("events.replay", "events.endpoint", "events.snapshot");
  }

  @Test
  void everyCheckOfTheDoctor_isInTheGuide() throws Exception {
    Set<String> rows = Set.copyOf(Files.readAllLines(Path.of("cluster-configs/TROUBLESHOOTING.md")));
    assertThat(Checks.ALL)
        .extracting(check -> "| `%s` | %s |".formatted(check.name(), check.question()))
        .filteredOn(row -> !rows.contains(row))
        .as("rows that the guide's table of checks lacks")
        .isEmpty();
  }

  @Test
  void links_leadToFiles() throws Exception {
    Stream<Path> readmes = Stream.of("README.md", "conf/README.md", "cluster-configs/README.md").map(Path::of);
    for (Path guide : Stream.concat(GUIDES.stream(), readmes).toList()) {
      LINK.matcher(Files.readString(guide)).results().forEach(link ->
          assertThat(guide.resolveSibling(link.group(1))).as("%s of %s", link.group(1), guide).exists());
    }
  }
}
