package io.kvasir.telemetry;

import io.prometheus.metrics.core.metrics.Counter;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The log of a node's sampled decisions: the last ones are kept in memory, and all are written as JSON lines by a
 * thread of its own. Lines that the thread cannot keep up with are dropped and counted, so a slow disk never slows a
 * request.
 *
 * <p>Thread-safe; closing it writes the lines that are queued.
 */
public final class DecisionLog implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(DecisionLog.class);
  private static final int QUEUE = 1024;
  private static final long CLOSE_TIMEOUT_SECONDS = 5;

  /** A decision with its outcomes so far. */
  public record Entry(DecisionRecord decision, List<DecisionOutcome> outcomes) {}

  /** A line to write, or the end of the log. */
  private sealed interface LogLine {
    record DecisionLine(DecisionRecord decision) implements LogLine {}

    record OutcomeLine(DecisionOutcome outcome) implements LogLine {}

    enum End implements LogLine { INSTANCE }
  }

  private final DecisionLogSettings settings;
  private final Counter lines;
  private final @Nullable Thread writer;
  private final BlockingQueue<LogLine> queue = new ArrayBlockingQueue<>(QUEUE);
  private final Deque<Entry> recent = new ArrayDeque<>();

  /**
   * A log, whose file is opened with the first line.
   *
   * @param metrics registers the counter of lines written, dropped and failed; once per registry
   */
  public DecisionLog(DecisionLogSettings settings, Metrics metrics) {
    this.settings = settings;
    this.lines =
        Counter.builder()
            .name("kvasir_decision_log_lines_total")
            .help("Lines of the decision log: written, dropped because the queue was full, or failed.")
            .labelNames("result")
            .register(metrics.registry());
    this.writer =
        settings.path() == null ? null : Thread.ofPlatform().daemon().name("kvasir-decisions").unstarted(this::write);
    if (writer != null) {
      writer.start();
    }
  }

  /** A log that takes no samples. */
  public static DecisionLog off(Metrics metrics) {
    return new DecisionLog(new DecisionLogSettings(null, 0, 1, 1, 1), metrics);
  }

  /** Whether a request's decisions are recorded: all of them or none. */
  public boolean isSampled(String requestId) {
    double share = settings.sample();
    if (share <= 0 || share >= 1) {
      return share > 0;
    }
    // The hash of similar ids is similar; multiplied by an odd number its high bits are not.
    long mixed = (requestId.hashCode() * 0x9E3779B97F4A7C15L) >>> 11;
    return mixed * 0x1.0p-53 < share;
  }

  /** Records a decision of a sampled request. */
  public void recordDecision(DecisionRecord decision) {
    synchronized (recent) {
      if (recent.size() >= settings.recent()) {
        recent.removeFirst();
      }
      recent.addLast(new Entry(decision, new ArrayList<>(1)));
    }
    put(new LogLine.DecisionLine(decision));
  }

  /** Records the outcome of a recorded decision. */
  public void recordOutcome(DecisionOutcome outcome) {
    synchronized (recent) {
      for (Entry entry : recent) {
        if (entry.decision.requestId().equals(outcome.requestId())
            && entry.decision.plan().stream().anyMatch(step -> step.worker().equals(outcome.worker()))) {
          entry.outcomes.add(outcome);
        }
      }
    }
    put(new LogLine.OutcomeLine(outcome));
  }

  /** The last decisions that match, newest first, at most {@code limit}. */
  public List<Entry> recent(Predicate<DecisionRecord> filter, int limit) {
    List<Entry> found = new ArrayList<>();
    synchronized (recent) {
      for (var entries = recent.descendingIterator(); entries.hasNext() && found.size() < limit; ) {
        Entry entry = entries.next();
        if (filter.test(entry.decision)) {
          found.add(new Entry(entry.decision, List.copyOf(entry.outcomes)));
        }
      }
    }
    return found;
  }

  /** Writes the queued lines, waiting some seconds at most. */
  @Override
  public void close() {
    Thread running = writer;
    if (running == null) {
      return;
    }
    try {
      if (!queue.offer(LogLine.End.INSTANCE, CLOSE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
          || !running.join(Duration.ofSeconds(CLOSE_TIMEOUT_SECONDS))) {
        running.interrupt();
      }
    } catch (InterruptedException stopped) {
      running.interrupt();
      Thread.currentThread().interrupt();
    }
  }

  private void put(LogLine line) {
    if (writer != null && !queue.offer(line)) {
      count("dropped");
    }
  }

  private void write() {
    try (RotatingFile file = new RotatingFile(settings)) {
      while (true) {
        switch (queue.take()) {
          case LogLine.End _ -> {
            return;
          }
          case LogLine.DecisionLine(DecisionRecord decision) -> write(file, DecisionJson.of(decision).toString());
          case LogLine.OutcomeLine(DecisionOutcome outcome) -> write(file, DecisionJson.of(outcome).toString());
        }
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    } catch (IOException unclosable) {
      LOG.warn("closing the decision log {} failed", settings.path(), unclosable);
    }
  }

  private void write(RotatingFile file, String line) {
    try {
      file.write(line, queue.isEmpty());
      count("written");
    } catch (IOException | RuntimeException failed) {
      if (count("failed") == 1) {
        LOG.warn("the decision log {} cannot be written; kvasir_decision_log_lines_total{result=failed} counts"
            + " the lines lost", settings.path(), failed);
      }
    }
  }

  private long count(String result) {
    var counter = lines.labelValues(result);
    counter.inc();
    return counter.getLongValue();
  }
}
