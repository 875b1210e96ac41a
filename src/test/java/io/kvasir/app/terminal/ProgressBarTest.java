package io.kvasir.app.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

final class ProgressBarTest {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  private final PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);

  @Test
  void onTerminal_staysInPlace() {
    try (ProgressBar bar = new ProgressBar("engines", out, true)) {
      bar.draw(0.5, "two of four");
      bar.draw(0.501, "two of four");
      bar.draw(0.6, "three");
      bar.end();
    }
    assertThat(written())
        .isEqualTo(
            "\rengines [###############...............]  50 %  two of four"
                + "\rengines [##################............]  60 %  three      "
                + "\rengines [##############################] 100 %  three\n");
  }

  @Test
  void intoFile_aLineForEveryTenthAndNoControlCharacters() {
    try (ProgressBar bar = new ProgressBar("engines", out, false)) {
      for (int i = 0; i <= 10_000; i++) {
        bar.draw(i / 10_000.0);
      }
      bar.end();
    }
    assertThat(written().lines()).hasSize(10).startsWith("engines 10 %").endsWith("engines 100 %");
    assertThat(written()).doesNotContain("\r", "\b", "\u001b");
  }

  @Test
  void intoFile_progressThatFallsBack_isNotToldAgain() {
    try (ProgressBar bar = new ProgressBar("", out, false)) {
      for (int i = 0; i < 50; i++) {
        bar.draw(0.35, "of 20");
        bar.draw(0.15, "of 40");
      }
    }
    assertThat(written()).isEqualTo("30 %  of 20\n");
  }

  @Test
  void commandThatFails_leavesTheBarOnALineOfItsOwn() {
    try (ProgressBar bar = new ProgressBar("", out, true)) {
      bar.draw(0.1);
    }
    out.println("kvasir: it failed");
    assertThat(written()).isEqualTo("\r[###...........................]  10 %\nkvasir: it failed\n");
  }

  @Test
  void sharesOutOfRange_areDrawnAsTheNearest() {
    try (ProgressBar bar = new ProgressBar("", out, false)) {
      bar.draw(Double.NaN);
      bar.draw(-1);
      bar.draw(7);
    }
    assertThat(written()).isEqualTo("100 %\n");
  }

  @Test
  void nothingDone_nothingWritten() {
    try (ProgressBar _ = new ProgressBar("", out, true)) {
      assertThat(written()).isEmpty();
    }
    assertThat(written()).isEmpty();
  }

  private String written() {
    return bytes.toString(StandardCharsets.UTF_8).replace(System.lineSeparator(), "\n");
  }
}
