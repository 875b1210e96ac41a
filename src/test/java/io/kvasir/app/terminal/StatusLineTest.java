package io.kvasir.app.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

final class StatusLineTest {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  private final PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);

  @Test
  void onTerminal_staysInPlace() {
    try (StatusLine line = new StatusLine(out, true)) {
      line.show("requests 10", "workers 4/4");
      line.show("requests 9", "workers 4/4");
    }
    assertThat(written()).isEqualTo("\rrequests 10   workers 4/4\rrequests 9   workers 4/4 \n");
  }

  @Test
  void intoFile_aLineWhenTheStateChangesAndTheLastFigures() {
    try (StatusLine line = new StatusLine(out, false)) {
      for (int i = 0; i < 1000; i++) {
        line.show("requests " + i, "workers " + i / 500);
      }
    }
    assertThat(written())
        .isEqualTo("requests 0   workers 0\nrequests 500   workers 1\nrequests 999   workers 1\n");
  }

  @Test
  void intoFile_lastFiguresThatStandThere_areNotRepeated() {
    try (StatusLine line = new StatusLine(out, false)) {
      line.show("requests 0", "workers 4/4");
    }
    assertThat(written()).isEqualTo("requests 0   workers 4/4\n");
  }

  private String written() {
    return bytes.toString(StandardCharsets.UTF_8).replace(System.lineSeparator(), "\n");
  }
}
