package io.kvasir.telemetry;

import io.prometheus.metrics.core.metrics.Counter;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The log of a node's sampled decisions: the last ones are kept in memory, and all are written to a
 * {@link LineLog}. Thread-safe; closing it writes the lines that are queued.
 */
public final class DecisionLog implements AutoCloseable {
  /**
   * A decision with its outcomes so far.
   *
   * @param id tells it apart from all others, also of other nodes and of this one before
   */
  public record Entry(String id, DecisionRecord decision, List<DecisionOutcome> outcomes) {}

  private final DecisionLogSettings settings;
  private final @Nullable LineLog file;
  /** Clients choose their requests' ids, and are not to choose which of them are recorded. */
  private final int salt = ThreadLocalRandom.current().nextInt();

  /** What all ids of this log's entries begin with. */
  private final String run = HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong()) + "-";

  private final Deque<Entry> recent = new ArrayDeque<>();

  /** Guarded by {@link #recent}. */
  private long recorded;

  /**
   * A log, whose file is opened with the first line.
   *
   * @param metrics registers the counter of lines written, dropped and failed; once per registry
   */
  public DecisionLog(DecisionLogSettings settings, Metrics metrics) {
    this.settings = settings;
    Counter lines =
        Counter.builder()
            .name("kvasir_decision_log_lines_total")
            .help("Lines of the decision log: written, dropped because the queue was full, or failed.")
            .labelNames("result")
            .register(metrics.registry());
    this.file = settings.file() == null ? null : new LineLog("decision", settings.file(), lines);
  }

  /** A log that takes no samples. */
  public static DecisionLog off(Metrics metrics) {
    return new DecisionLog(new DecisionLogSettings(null, 0, 1), metrics);
  }

  /** Whether a request's decisions are recorded: all of them or none. */
  public boolean isSampled(String requestId) {
    double share = settings.sample();
    if (share <= 0 || share >= 1) {
      return share > 0;
    }
    // The hash of similar ids is similar; multiplied by an odd number its high bits are not.
    long mixed = ((requestId.hashCode() ^ salt) * 0x9E3779B97F4A7C15L) >>> 11;
    return mixed * 0x1.0p-53 < share;
  }

  /** Records a decision of a sampled request. */
  public void recordDecision(DecisionRecord decision) {
    synchronized (recent) {
      if (recent.size() >= settings.recent()) {
        recent.removeFirst();
      }
      recorded++;
      recent.addLast(new Entry(run + recorded, decision, new ArrayList<>(1)));
    }
    if (file != null) {
      file.put(() -> DecisionJson.of(decision));
    }
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
    if (file != null) {
      file.put(() -> DecisionJson.of(outcome));
    }
  }

  /** What operators have to know: that the file cannot be written. */
  public List<Problem> problems() {
    return file == null ? List.of() : file.problems();
  }

  /** The last decisions that match, newest first, at most {@code limit}. */
  public List<Entry> recent(Predicate<DecisionRecord> filter, int limit) {
    List<Entry> found = new ArrayList<>();
    synchronized (recent) {
      for (var entries = recent.descendingIterator(); entries.hasNext() && found.size() < limit; ) {
        Entry entry = entries.next();
        if (filter.test(entry.decision)) {
          found.add(new Entry(entry.id, entry.decision, List.copyOf(entry.outcomes)));
        }
      }
    }
    return found;
  }

  /** The decision with an id, while it is among the last. */
  public Optional<Entry> find(String id) {
    synchronized (recent) {
      return recent.stream()
          .filter(entry -> entry.id.equals(id))
          .findFirst()
          .map(entry -> new Entry(entry.id, entry.decision, List.copyOf(entry.outcomes)));
    }
  }

  /** Writes the queued lines, waiting some seconds at most. */
  @Override
  public void close() {
    if (file != null) {
      file.close();
    }
  }
}
