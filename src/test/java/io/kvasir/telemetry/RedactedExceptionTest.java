package io.kvasir.telemetry;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

final class RedactedExceptionTest {
  private static String printed(Throwable original) {
    StringWriter out = new StringWriter();
    RedactedException.of(original).printStackTrace(new PrintWriter(out));
    return out.toString();
  }

  @Test
  void of_exceptionWithCause_hasItsStackAndNoMessage() {
    String text = printed(new IllegalStateException("SECRET", new IllegalArgumentException("SECRET")));

    assertThat(text).contains("IllegalStateException", "IllegalArgumentException", "of_exceptionWithCause")
        .doesNotContain("SECRET");
  }

  @Test
  void of_messageOfTheJvm_isKept() {
    assertThat(printed(new NullPointerException("because \"x\" is null"))).contains("because \"x\" is null");
  }

  @Test
  void of_causesThatCircle_ends() {
    Exception first = new IllegalStateException("SECRET");
    first.initCause(new IllegalArgumentException("SECRET", first));

    assertThat(printed(first)).contains("IllegalStateException").doesNotContain("SECRET");
  }
}
