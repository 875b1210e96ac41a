package io.kvasir.app;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The progress of a long command, wherever its errors go. */
final class ProgressIT {
  private static final String LAB = "lab --trace 'gen:sessions?sessions=2&turns=2' --workers 2 --seeds 5 --out ";

  @TempDir private Path directory = Path.of("");

  @Test
  void bar_isDrawnOnATerminal_evenWhereOutputGoesToAFile() throws Exception {
    try (TestTerminal terminal =
        TestTerminal.run(directory, TestTerminal.kvasir(LAB + directory + "/lab > " + directory + "/table"))) {
      assertThat(terminal.awaitEnd()).isTrue();
      assertThat(terminal.shown()).contains("\r[", "[##############################] 100 %");
      assertThat(Files.readString(directory.resolve("table"))).contains("expected-cost").doesNotContain("\r", "###");
    }
  }

  @Test
  void plainLines_goIntoAFile_evenWhereOutputIsATerminal() throws Exception {
    try (TestTerminal terminal =
        TestTerminal.run(directory, TestTerminal.kvasir(LAB + directory + "/lab 2> " + directory + "/errors"))) {
      assertThat(terminal.awaitEnd()).isTrue();
      assertThat(terminal.shown()).contains("expected-cost").doesNotContain("###");
      String errors = Files.readString(directory.resolve("errors"));
      assertThat(errors).contains("100 %").doesNotContain("\r", "#", "\u001b");
      assertThat(errors.lines().filter(line -> line.endsWith("%")).count()).isLessThanOrEqualTo(10);
    }
  }
}
