package io.kvasir.telemetry;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.core.metrics.Counter;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The log of administration: one JSON line for each change and each refusal, written before it is answered, to a file
 * or, without one, to the node's own log. Thread-safe; lines wait for each other.
 */
public final class AuditLog implements AutoCloseable {
  /** Of those that need no key. */
  static final int REFUSALS_PER_SECOND = 10;

  /** Lines that are kept in memory. */
  private static final int MOST_LATEST = 1000;

  private static final Logger LOG = LoggerFactory.getLogger("io.kvasir.audit");

  private final @Nullable LogFileSettings settings;
  private final @Nullable RotatingFile file;
  private final Counter lines;
  private final LineRate refusals;
  private volatile boolean failing;

  /** The last lines, the latest last. Guarded by this. */
  private final Deque<ObjectNode> latest = new ArrayDeque<>();

  /**
   * A log, whose file is opened with the first line.
   *
   * @param settings null for the node's own log
   * @param metrics registers the counter of lines written, failed and left out; once per registry
   */
  public AuditLog(@Nullable LogFileSettings settings, Metrics metrics, NanoClock clock) {
    this.settings = settings;
    this.file = settings == null ? null : new RotatingFile(settings);
    this.refusals = new LineRate(REFUSALS_PER_SECOND, clock);
    this.lines =
        Counter.builder()
            .name("kvasir_audit_lines_total")
            .help("Lines of the audit log: written; failed, and written to the node's own log instead; "
                + "left out, of requests without a known key beyond ten a second.")
            .labelNames("result")
            .register(metrics.registry());
    List.of("written", "failed", "left_out").forEach(result -> lines.initLabelValues(result));
  }

  /** Adds a line. One that cannot be written to the file goes to the node's own log. */
  public synchronized void add(ObjectNode line) {
    if (latest.size() == MOST_LATEST) {
      latest.removeFirst();
    }
    latest.addLast(line);
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

  /**
   * Adds the refusal of somebody without a key, which anybody can cause: at most {@value #REFUSALS_PER_SECOND} a second
   * are written, the next says how many were left out.
   */
  public void addOfUnknown(ObjectNode line) {
    long leftOut = refusals.take();
    if (leftOut < 0) {
      lines.labelValues("left_out").inc();
      return;
    }
    add(leftOut == 0 ? line : line.put("left_out", leftOut));
  }

  /** What operators have to know: that the file cannot be written. */
  public List<Problem> problems() {
    return failing && settings != null
        ? List.of(Problem.warning(
            "the audit log " + settings.path() + " cannot be written: its lines go to the node's own log",
            "see that its disk has room and that the node may write there"))
        : List.of();
  }

  /** The last lines, newest first; not to be changed. */
  public synchronized List<ObjectNode> latest(int limit) {
    return latest.reversed().stream().limit(limit).toList();
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
