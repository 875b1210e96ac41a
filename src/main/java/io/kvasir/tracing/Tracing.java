package io.kvasir.tracing;

import io.kvasir.http.Headers;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import io.kvasir.tracing.TracedRequest.Arrival;
import io.kvasir.tracing.TracedRequest.End;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The traces of a node's requests: begins them, decides which are exported, and has that done. Thread-safe; never waits
 * but in {@link #close}.
 */
public final class Tracing implements AutoCloseable {
  /** No traces; the trace context of requests is not looked at. */
  public static final Tracing OFF = new Tracing();

  private final @Nullable Sampling sampling;
  private final @Nullable SpanExport export;
  private final NanoClock clock;
  private final InstantSource wallClock;

  private Tracing() {
    this.sampling = null;
    this.export = null;
    this.clock = NanoClock.SYSTEM;
    this.wallClock = InstantSource.system();
  }

  private Tracing(Sampling sampling, SpanExport export, NanoClock clock, InstantSource wallClock) {
    this.sampling = sampling;
    this.export = export;
    this.clock = clock;
    this.wallClock = wallClock;
  }

  /**
   * Starts the export, or nothing when traces are off.
   *
   * @param environment variables; those of OpenTelemetry go before the settings
   * @param node this node's name in the traces
   * @param clock by which the requests are timed
   * @throws TracingException when traces are wanted and cannot be exported in that way
   */
  public static Tracing start(
      TracingSettings settings, Map<String, String> environment, String node, Metrics metrics, NanoClock clock,
      InstantSource wallClock)
      throws TracingException {
    OtlpSettings otlp = OtlpSettings.of(settings, environment);
    if (!otlp.enabled()) {
      return OFF;
    }
    Sampling sampling = Sampling.of(otlp.sampler(), otlp.samplerShare(), settings);
    return new Tracing(sampling, SpanExport.start(OtlpExporter.of(otlp, node, clock), metrics), clock, wallClock);
  }

  /** Whether requests are traced. */
  public boolean isOn() {
    return sampling != null;
  }

  /** Begins the trace of a request, or goes on with its client's; null when traces are off. */
  public @Nullable TracedRequest begin(Headers headers, Arrival arrival) {
    if (sampling == null) {
      return null;
    }
    TraceContext parent = TraceContext.parse(headers.only(TraceContext.HEADER));
    TraceContext context;
    if (parent == null) {
      TraceContext root = TraceContext.root();
      context = root.sampled(sampling.isSampled(root));
    } else {
      context = parent.with(TraceContext.newSpan()).sampled(sampling.isSampledBelow(parent));
    }
    Instant now = wallClock.instant();
    return new TracedRequest(
        context, parent == null ? 0 : parent.span(), arrival,
        TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano(), clock.nanos());
  }

  /** Whether a request's trace will be exported, as far as its first token tells. */
  public boolean isExportedAtFirstToken(TracedRequest request, long waitNanos) {
    return sampling != null && sampling.isExportedAtFirstToken(request, waitNanos);
  }

  /** Ends a request; the first end counts. True when its spans are exported. */
  public boolean ended(TracedRequest request, End end) {
    if (request.end() != null) {
      return false;
    }
    request.ended(end);
    if (sampling == null || export == null || !sampling.isExported(request, end)) {
      return false;
    }
    export.add(request);
    return true;
  }

  /** What is lost of the traces; empty when nothing is. */
  public List<Problem> problems() {
    return export == null ? List.of() : export.problems();
  }

  /** Exports what is queued, waiting some seconds at most. */
  @Override
  public void close() {
    if (export != null) {
      export.close();
    }
  }
}
