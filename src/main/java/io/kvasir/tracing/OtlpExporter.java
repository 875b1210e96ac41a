package io.kvasir.tracing;

import io.kvasir.time.NanoClock;
import io.opentelemetry.common.ComponentLoader;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;
import io.opentelemetry.sdk.autoconfigure.spi.ConfigProperties;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.common.export.HttpSender;
import io.opentelemetry.sdk.common.export.HttpSenderConfig;
import io.opentelemetry.sdk.common.export.HttpSenderProvider;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Exports spans over OTLP: OpenTelemetry's exporter, as the environment configures it, over an {@link OtlpSender}. Used
 * by one thread, but for {@link #stopRetrying}.
 */
final class OtlpExporter implements AutoCloseable {
  /** What fails {@link SpanExport} reports, or is thrown. Kept: a logger that nobody keeps loses its level. */
  private static final Logger SDK_LOG = Logger.getLogger("io.opentelemetry");

  private final SpanExporter exporter;
  private final OtlpSender sender;
  private final RequestSpans spans;
  private final OtlpSettings.Batches batches;

  private OtlpExporter(Parts parts, OtlpSender sender) {
    this.exporter = Objects.requireNonNull(parts.exporter);
    this.sender = sender;
    this.spans = new RequestSpans(parts.resource);
    this.batches = Objects.requireNonNull(parts.batches);
  }

  /**
   * What came of a batch.
   *
   * @param rejected spans of them that the collector did not take
   * @param failure why none of them was taken, null when they were
   */
  record Result(int spans, long rejected, @Nullable String failure) {}

  /**
   * An exporter, which connects with its first spans.
   *
   * @param node this node's name
   */
  static OtlpExporter of(OtlpSettings settings, String node, NanoClock clock) throws TracingException {
    settings.requireHttp();
    SDK_LOG.setLevel(Level.OFF);
    Parts parts = new Parts(clock);
    try {
      // Of what the SDK builds from the environment only exporter and resource are used: spans are built here.
      AutoConfiguredOpenTelemetrySdk.builder()
          .disableShutdownHook()
          .setComponentLoader(parts)
          .addPropertiesCustomizer(_ -> settings.properties())
          .addResourceCustomizer((found, _) -> parts.keep(found.merge(SpanAttributes.ofNode(node))))
          .addSpanExporterCustomizer(parts::keep)
          .build()
          .getOpenTelemetrySdk()
          .close();
      return new OtlpExporter(parts, Objects.requireNonNull(parts.sender));
    } catch (RuntimeException e) {
      parts.close();
      throw new TracingException("Traces cannot be exported with these OTEL_ variables: " + e.getMessage(), e);
    }
  }

  /** What is kept of the SDK, and what it is given. */
  private static final class Parts implements ComponentLoader, HttpSenderProvider {
    private final ComponentLoader installed = ComponentLoader.forClassLoader(OtlpExporter.class.getClassLoader());
    private final NanoClock clock;
    private @Nullable SpanExporter exporter;
    private @Nullable OtlpSender sender;
    private OtlpSettings.@Nullable Batches batches;
    private Resource resource = Resource.getDefault();

    Parts(NanoClock clock) {
      this.clock = clock;
    }

    @Override
    public <T> Iterable<T> load(Class<T> type) {
      return type == HttpSenderProvider.class ? List.of(type.cast(this)) : installed.load(type);
    }

    @Override
    public HttpSender createSender(HttpSenderConfig config) {
      OtlpSender made = new OtlpSender(config, clock);
      sender = made;
      return made;
    }

    Resource keep(Resource named) {
      resource = named;
      return named;
    }

    /** Keeps the exporter; the SDK gets one that does nothing, for it is closed. */
    SpanExporter keep(SpanExporter made, ConfigProperties properties) {
      exporter = made;
      batches = new OtlpSettings.Batches(
          properties.getInt("otel.bsp.max.queue.size", 2048),
          properties.getInt("otel.bsp.max.export.batch.size", 512),
          properties.getDuration("otel.bsp.schedule.delay", Duration.ofSeconds(5)),
          properties.getDuration("otel.bsp.export.timeout", Duration.ofSeconds(30)));
      return SpanExporter.composite();
    }

    void close() {
      if (sender != null) {
        sender.shutdown();
      }
    }
  }

  OtlpSettings.Batches batches() {
    return batches;
  }

  /** Sends the spans of these requests and waits for the collector's answer. */
  Result export(List<TracedRequest> requests) throws InterruptedException {
    List<SpanData> built = spans.of(requests);
    sender.begin(batches.timeout());
    CompletableResultCode sent = exporter.export(built);
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    sent.join(batches.timeout().toMillis(), TimeUnit.MILLISECONDS);
    String failure = sender.failure();
    return new Result(
        built.size(), Math.clamp(sender.rejected(), 0, built.size()),
        sent.isSuccess() ? null : failure == null ? "the exporter failed" : failure);
  }

  /** From now on a message that fails is not sent again. Any thread. */
  void stopRetrying() {
    sender.stopRetrying();
  }

  @Override
  public void close() {
    exporter.close();
  }
}
