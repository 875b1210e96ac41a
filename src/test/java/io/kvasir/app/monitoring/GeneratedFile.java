package io.kvasir.app.monitoring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Committed files that are generated from the code. */
final class GeneratedFile {
  private static final Path FRESH = Path.of("target/generated");

  private GeneratedFile() {}

  /** Fails, with the difference and the command that brings it up to date, unless the file has this text. */
  static void assertCurrent(Path committed, String generated) throws IOException {
    assertCurrent(Map.of(committed, generated));
  }

  /** The same of several files of one directory. */
  static void assertCurrent(Map<Path, String> generated) throws IOException {
    for (Map.Entry<Path, String> file : generated.entrySet()) {
      Path fresh = FRESH.resolve(file.getKey());
      Files.createDirectories(fresh.toAbsolutePath().getParent());
      Files.writeString(fresh, file.getValue());
    }
    for (Path committed : generated.keySet()) {
      Path fresh = FRESH.resolve(committed);
      String remedy = committed + " is out of date; bring it up to date by: cp " + fresh + " " + committed;
      assertThat(committed).as(remedy).exists().hasSameTextualContentAs(fresh);
    }
  }
}
