package io.kvasir.tracing;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The header {@code traceparent}, by the examples of W3C's own tests. */
final class TraceContextTest {
  private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";
  private static final String SPAN = "b7ad6b7169203331";

  @ParameterizedTest
  @ValueSource(strings = {
    "00-" + TRACE + "-" + SPAN + "-00", "00-" + TRACE + "-" + SPAN + "-01", "00-" + TRACE + "-" + SPAN + "-03"
  })
  void header_isReadAndWritten(String header) {
    TraceContext context = parse(header);
    assertThat(context.traceId()).isEqualTo(TRACE);
    assertThat(context.spanId()).isEqualTo(SPAN);
    assertThat(context.header()).isEqualTo(header);
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "01-" + TRACE + "-" + SPAN + "-01", "cc-" + TRACE + "-" + SPAN + "-01-what-the-future-will-be-like"
  })
  void laterVersion_isWrittenAsThisOne(String header) {
    TraceContext context = parse(header);
    assertThat(context.header()).isEqualTo("00-" + TRACE + "-" + SPAN + "-01");
  }

  private static TraceContext parse(String header) {
    return Objects.requireNonNull(TraceContext.parse(header));
  }

  @Test
  void unknownFlags_areNotPassedOn() {
    TraceContext context = parse("00-" + TRACE + "-" + SPAN + "-fd");
    assertThat(context.isSampled()).isTrue();
    assertThat(context.header()).endsWith("-01");
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "", "00", "00-" + TRACE + "-" + SPAN, "00-" + TRACE + "-" + SPAN + "-1", "00-" + TRACE + "-" + SPAN + "-01-",
    "00-" + TRACE + "-" + SPAN + "-01-extra", "cc-" + TRACE + "-" + SPAN + "-01.extra",
    "ff-" + TRACE + "-" + SPAN + "-01", "00-00000000000000000000000000000000-" + SPAN + "-01",
    "00-" + TRACE + "-0000000000000000-01", "00-0AF7651916cd43dd8448eb211c80319c-" + SPAN + "-01",
    "00-.af7651916cd43dd8448eb211c80319c-" + SPAN + "-01", "00-" + TRACE + "-" + SPAN + "-0.",
    "00_" + TRACE + "_" + SPAN + "_01", "0-" + TRACE + "-" + SPAN + "-01"
  })
  void malformedHeader_isNone(String header) {
    assertThat(TraceContext.parse(header)).isNull();
  }

  @Test
  void root_isNewEachTime() {
    assertThat(TraceContext.root().traceId()).isNotEqualTo(TraceContext.root().traceId());
    assertThat(TraceContext.parse(TraceContext.root().header())).isNotNull();
  }
}
