package io.kvasir.telemetry;

import io.prometheus.metrics.core.metrics.Counter;
import java.time.InstantSource;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The log of requests at the gateway: one JSON line for each, see {@link AccessEntry}. Thread-safe; never waits. */
public final class AccessLog implements AutoCloseable {
  private final @Nullable LineLog file;
  private final InstantSource clock;

  private AccessLog(@Nullable LineLog file, InstantSource clock) {
    this.file = file;
    this.clock = clock;
  }

  /**
   * A log, whose file is opened with the first line.
   *
   * @param metrics registers the counter of lines written, dropped and failed; once per registry
   */
  public static AccessLog to(LogFileSettings settings, InstantSource clock, Metrics metrics) {
    Counter lines =
        Counter.builder()
            .name("kvasir_access_log_lines_total")
            .help("Lines of the access log: written, dropped because the queue was full, or failed.")
            .labelNames("result")
            .register(metrics.registry());
    return new AccessLog(new LineLog("access", settings, lines), clock);
  }

  /** No log. */
  public static AccessLog off() {
    return new AccessLog(null, InstantSource.system());
  }

  /** Whether requests are logged: without, their entries need not be made. */
  public boolean isOn() {
    return file != null;
  }

  /** Adds a request that has ended now. */
  public void add(AccessEntry entry) {
    if (file != null) {
      String ended = clock.instant().toString();
      file.put(() -> entry.json(ended));
    }
  }

  /** What operators have to know: that the file cannot be written. */
  public List<Problem> problems() {
    return file == null ? List.of() : file.problems();
  }

  @Override
  public void close() {
    if (file != null) {
      file.close();
    }
  }
}
