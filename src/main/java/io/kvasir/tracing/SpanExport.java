package io.kvasir.tracing;

import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The queue of requests whose spans are exported, and the thread that builds and sends them. Bounded by the number of
 * their spans: what does not fit is dropped and counted, so that a slow collector slows no request. Thread-safe.
 */
final class SpanExport implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SpanExport.class);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

  private final OtlpExporter exporter;
  private final OtlpSettings.Batches batches;
  private final TracingMetrics metrics;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Deque<TracedRequest> queue = new ArrayDeque<>();
  private final Thread thread;
  /** Spans of the queue; written with the lock. */
  private final AtomicInteger queued = new AtomicInteger();
  private volatile boolean closing;
  /** Why the latest export failed; null when it did not. */
  private volatile @Nullable String failure;

  private SpanExport(OtlpExporter exporter, Metrics metrics) {
    this.exporter = exporter;
    this.batches = exporter.batches();
    this.metrics = new TracingMetrics(metrics, queued::get);
    this.thread = Thread.ofPlatform().daemon().name("kvasir-traces").unstarted(this::run);
  }

  /** An export whose thread runs; it owns the exporter. */
  static SpanExport start(OtlpExporter exporter, Metrics metrics) {
    SpanExport export = new SpanExport(exporter, metrics);
    export.thread.start();
    return export;
  }

  /** Queues a request that has ended, unless the queue is full. */
  void add(TracedRequest request) {
    int size = request.size();
    lock.lock();
    try {
      int spans = queued.get();
      if (!closing && spans + size <= batches.maxQueued()) {
        boolean wakes = queue.isEmpty() || (spans < batches.maxSize() && spans + size >= batches.maxSize());
        queue.addLast(request);
        queued.set(spans + size);
        if (wakes) {
          changed.signal();
        }
        return;
      }
    } finally {
      lock.unlock();
    }
    metrics.dropped(size);
  }

  /** What is lost. */
  List<Problem> problems() {
    String why = failure;
    return why == null ? List.of()
        : List.of(
            Problem.warning(
                "traces are lost: " + why,
                "see that the collector of kvasir.tracing.endpoint or OTEL_EXPORTER_OTLP_ENDPOINT can be reached and"
                    + " takes OTLP over HTTP (kvasir_trace_spans_total counts what is lost)"));
  }

  private void run() {
    try {
      List<TracedRequest> batch = nextBatch();
      while (!batch.isEmpty()) {
        export(batch);
        batch = nextBatch();
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    } finally {
      exporter.close();
    }
  }

  /** Waits for the first request, and for others until a batch is full or has waited long enough; empty at the end. */
  private List<TracedRequest> nextBatch() throws InterruptedException {
    List<TracedRequest> batch = new ArrayList<>();
    lock.lock();
    try {
      while (queue.isEmpty() && !closing) {
        changed.await();
      }
      long left = batches.delay().toNanos();
      while (queued.get() < batches.maxSize() && !closing && left > 0) {
        left = changed.awaitNanos(left);
      }
      int spans = 0;
      while (!queue.isEmpty() && (spans == 0 || spans + queue.getFirst().size() <= batches.maxSize())) {
        TracedRequest next = queue.removeFirst();
        spans += next.size();
        batch.add(next);
      }
      queued.set(queue.isEmpty() ? 0 : Math.max(1, queued.get() - spans));
    } finally {
      lock.unlock();
    }
    return batch;
  }

  private OtlpExporter.Result result(List<TracedRequest> batch) throws InterruptedException {
    try {
      return exporter.export(batch);
    } catch (RuntimeException e) {
      // These spans are lost, but not those after them.
      LOG.debug("the exporter failed", e);
      int spans = batch.stream().mapToInt(TracedRequest::size).sum();
      return new OtlpExporter.Result(spans, 0, "the exporter failed: " + e);
    }
  }

  private void export(List<TracedRequest> batch) throws InterruptedException {
    OtlpExporter.Result result = result(batch);
    String why = result.failure();
    if (why == null) {
      metrics.exported(result.spans() - result.rejected());
      metrics.rejected(result.rejected());
    } else {
      metrics.failed(result.spans());
    }
    String before = failure;
    if (why != null && before == null) {
      LOG.warn("traces cannot be exported: {}; kvasir_trace_spans_total{result=failed} counts the spans lost", why);
    } else if (why == null && before != null) {
      LOG.info("traces are exported again");
    }
    failure = why;
  }

  @Override
  public void close() {
    lock.lock();
    try {
      closing = true;
      changed.signal();
    } finally {
      lock.unlock();
    }
    exporter.stopRetrying();
    try {
      if (!thread.join(CLOSE_TIMEOUT)) {
        thread.interrupt();
      }
    } catch (InterruptedException stopped) {
      thread.interrupt();
      Thread.currentThread().interrupt();
    }
  }
}
