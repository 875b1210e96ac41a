package io.kvasir.telemetry;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import io.prometheus.metrics.core.metrics.Counter;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A log of JSON lines in a file, written by a thread of its own. Lines that the thread cannot keep up with are dropped
 * and counted, so a slow disk never slows a request. Thread-safe; closing it writes the lines that are queued.
 */
final class LineLog implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LineLog.class);
  private static final int QUEUE = 1024;
  private static final long CLOSE_TIMEOUT_SECONDS = 5;
  private static final Supplier<JsonNode> END = NullNode::getInstance;

  private final String name;
  private final LogFileSettings settings;
  private final Counter lines;
  private final BlockingQueue<Supplier<? extends JsonNode>> queue = new ArrayBlockingQueue<>(QUEUE);
  private final Thread writer;

  /** Whether nothing has reached the file since a line failed. */
  private volatile boolean failing;

  /**
   * A log, whose file is opened with the first line.
   *
   * @param name in thread names and warnings, such as {@code decision}
   * @param lines counts lines by the label {@code result}: written, dropped because the queue was full, or failed
   */
  LineLog(String name, LogFileSettings settings, Counter lines) {
    this.name = name;
    this.settings = settings;
    this.lines = lines;
    // All series are there from the start: a scraper takes the first value of one that appears for no increase.
    List.of("written", "dropped", "failed").forEach(result -> lines.initLabelValues(result));
    this.writer = Thread.ofPlatform().daemon().name("kvasir-" + name + "-log").start(this::write);
  }

  /** Queues a line, which is made on the log's thread. Never waits. */
  void put(Supplier<? extends JsonNode> line) {
    if (!queue.offer(line)) {
      count("dropped");
    }
  }

  /** What operators have to know: that the file cannot be written. */
  List<Problem> problems() {
    return failing
        ? List.of(Problem.warning(
            "the %s log %s cannot be written: its lines are lost".formatted(name, settings.path()),
            "see that its disk has room and that the node may write there"))
        : List.of();
  }

  /** Writes the queued lines, waiting some seconds at most. */
  @Override
  public void close() {
    try {
      if (!queue.offer(END, CLOSE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
          || !writer.join(Duration.ofSeconds(CLOSE_TIMEOUT_SECONDS))) {
        writer.interrupt();
      }
    } catch (InterruptedException stopped) {
      writer.interrupt();
      Thread.currentThread().interrupt();
    }
  }

  @SuppressWarnings("ReferenceEquality") // The end is that one object.
  private void write() {
    try (RotatingFile file = new RotatingFile(settings)) {
      for (Supplier<? extends JsonNode> line = queue.take(); line != END; line = queue.take()) {
        write(file, line);
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    } catch (IOException unclosable) {
      LOG.warn("closing the {} log {} failed", name, settings.path(), unclosable);
    }
  }

  private void write(RotatingFile file, Supplier<? extends JsonNode> line) {
    try {
      boolean last = queue.isEmpty();
      file.write(line.get().toString(), last);
      if (last) {
        failing = false;
      }
      count("written");
    } catch (IOException | RuntimeException failed) {
      failing = true;
      if (count("failed") == 1) {
        LOG.warn("the {} log {} cannot be written; kvasir_{}_log_lines_total{result=failed} counts the lines lost",
            name, settings.path(), name, failed);
      }
    }
  }

  private long count(String result) {
    var counter = lines.labelValues(result);
    counter.inc();
    return counter.getLongValue();
  }
}
