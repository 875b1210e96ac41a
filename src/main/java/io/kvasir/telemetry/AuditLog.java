package io.kvasir.telemetry;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.prometheus.metrics.core.metrics.Counter;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The log of administration: one JSON line for each change and each refusal, written before it is answered, to a file
 * or, without one, to the node's own log. Thread-safe; lines wait for each other.
 */
public final class AuditLog implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger("io.kvasir.audit");

  private final @Nullable LogFileSettings settings;
  private final @Nullable RotatingFile file;
  private final Counter lines;
  private volatile boolean failing;

  /**
   * A log, whose file is opened with the first line.
   *
   * @param settings null for the node's own log
   * @param metrics registers the counter of lines written and failed; once per registry
   */
  public AuditLog(@Nullable LogFileSettings settings, Metrics metrics) {
    this.settings = settings;
    this.file = settings == null ? null : new RotatingFile(settings);
    this.lines =
        Counter.builder()
            .name("kvasir_audit_lines_total")
            .help("Lines of the audit log: written, or failed and written to the node's own log instead.")
            .labelNames("result")
            .register(metrics.registry());
  }

  /** Adds a line. One that cannot be written to the file goes to the node's own log. */
  public synchronized void add(ObjectNode line) {
    String text = line.toString();
    if (file == null) {
      LOG.info("{}", text);
      lines.labelValues("written").inc();
      return;
    }
    try {
      file.write(text, true);
      failing = false;
      lines.labelValues("written").inc();
    } catch (IOException failed) {
      failing = true;
      lines.labelValues("failed").inc();
      LOG.error("{}", text, failed);
    }
  }

  /** What operators have to know: that the file cannot be written. */
  public List<String> degraded() {
    return failing && settings != null
        ? List.of("the audit log " + settings.path() + " cannot be written; its lines go to the node's own log")
        : List.of();
  }

  @Override
  public synchronized void close() {
    if (file != null) {
      try {
        file.close();
      } catch (IOException unclosable) {
        LOG.warn("closing the audit log failed", unclosable);
      }
    }
  }
}
