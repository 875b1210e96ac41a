package io.kvasir.cell.client;

import io.kvasir.admission.AdmissionRefusal;
import io.kvasir.admission.ModelBacklog;
import io.kvasir.admission.RefusalReason;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.FromZeroSettings;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.http.Cancellation;
import io.kvasir.routing.Role;
import io.kvasir.time.NanoClock;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The requests of this node that wait for the first workers of a model that may have none. A request waits on its own
 * thread, which looks from time to time whether there is a worker that answers, and then tries again. While every model
 * has its workers nothing is done. Thread-safe.
 */
final class FirstWorkerWaits implements AutoCloseable {
  private static final long LOOK_NANOS = 100_000_000;
  private static final long RETRY_MILLIS = 5_000;

  private final FromZeroSettings settings;
  private final Function<String, List<WorkerSummary>> workers;
  private final NanoClock clock;
  private final Semaphore places;
  private final Set<Waiting> waiting = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  /** A request that waits; each is another one. */
  private static final class Waiting {
    final String model;
    final int promptTokens;
    final long startNanos;
    final Thread thread = Thread.currentThread();

    Waiting(DecisionRequest request, long startNanos) {
      this.model = request.model();
      this.promptTokens = Math.max(1, request.prompt().tokens());
      this.startNanos = startNanos;
    }
  }

  /**
   * Nobody waits yet.
   *
   * @param workers those of a model, from this node's memory
   */
  FirstWorkerWaits(FromZeroSettings settings, Function<String, List<WorkerSummary>> workers, NanoClock clock) {
    this.settings = settings;
    this.workers = workers;
    this.clock = clock;
    this.places = new Semaphore(settings.mostWaiting());
  }

  /** The names of models that are known without a worker. */
  Set<String> models() {
    return settings.models();
  }

  /** Those that wait, by model. */
  List<ModelBacklog> backlog() {
    if (waiting.isEmpty()) {
      return List.of();
    }
    long now = clock.nanos();
    Map<String, ModelBacklog> byModel = new TreeMap<>();
    for (Waiting each : waiting) {
      byModel.merge(
          each.model,
          new ModelBacklog(
              each.model, 1, each.promptTokens, each.promptTokens, 0, Math.max(0, now - each.startNanos) / 1_000_000),
          ModelBacklog::and);
    }
    return List.copyOf(byModel.values());
  }

  /**
   * Decides as soon as a worker of the model answers, or gives up.
   *
   * @param attempt decides as things are
   * @param client ends the wait when it is cancelled
   */
  Decision decide(DecisionRequest request, Supplier<Decision> attempt, Cancellation client) {
    Decision decision = attempt.get();
    if (!lacksWorkers(request, decision)) {
      return decision;
    }
    if (!places.tryAcquire()) {
      return Decision.NoWorker.refused(
          new AdmissionRefusal(
              RefusalReason.FIRST_WORKER, "scale.from-zero.most-waiting", settings.mostWaiting() + 1L,
              settings.mostWaiting(), "requests", RETRY_MILLIS));
    }
    Waiting begun = new Waiting(request, clock.nanos());
    waiting.add(begun);
    try (Cancellation.Registration _ = client.onCancelled(() -> LockSupport.unpark(begun.thread))) {
      return waited(begun, request, attempt, client);
    } finally {
      waiting.remove(begun);
      places.release();
    }
  }

  /** The node stops: those that wait are refused, and nobody waits any more. Idempotent. */
  @Override
  public void close() {
    closed = true;
    waiting.forEach(each -> LockSupport.unpark(each.thread));
  }

  /**
   * Waits until a decision is another than that there is no worker. Workers that have just come may not be known at
   * their cell's home yet, and the first of them may lack others to go with, so one of them is no reason to give up.
   */
  private Decision waited(Waiting begun, DecisionRequest request, Supplier<Decision> attempt, Cancellation client) {
    while (clock.nanos() - begun.startNanos < settings.longestWait().toNanos()) {
      if (client.isCancelled() || Thread.currentThread().isInterrupted()) {
        return new Decision.NoWorker(
            Decision.NoWorkerReason.STOPPING, "the request was cancelled while it waited for a worker");
      }
      if (closed) {
        return new Decision.NoWorker(
            Decision.NoWorkerReason.STOPPING, "this node stops; the request waited for a worker of its model");
      }
      // Those that wait together do not look together.
      LockSupport.parkNanos(LOOK_NANOS / 2 + ThreadLocalRandom.current().nextLong(LOOK_NANOS));
      if (serving(request.model()).findAny().isPresent()) {
        // It counts no more: an attempt may wait for its turn, and is counted where it does.
        waiting.remove(begun);
        Decision decision = attempt.get();
        if (!isWithoutWorker(decision)) {
          return decision;
        }
        waiting.add(begun);
      }
    }
    return new Decision.NoWorker(
        Decision.NoWorkerReason.NONE_HEALTHY,
        "no worker of '%s' has become ready within %d s".formatted(
            request.model(), settings.longestWait().toSeconds()));
  }

  private Stream<WorkerSummary> serving(String model) {
    return workers.apply(model).stream().filter(worker -> worker.health() == Health.HEALTHY && !worker.draining());
  }

  /**
   * Whether the model lacks the workers that it needs: one that reads prompts and one that generates, as may be the
   * same. A request whose own constraints leave it without one does not wait.
   */
  private boolean lacksWorkers(DecisionRequest request, Decision decision) {
    String model = request.model();
    return !closed
        && settings.models().contains(model)
        && decision instanceof Decision.NoWorker none
        && switch (none.reason()) {
          case UNKNOWN_MODEL -> true;
          case NONE_HEALTHY, NO_HOME -> !(serves(model, Role.PREFILL) && serves(model, Role.DECODE));
          default -> false;
        };
  }

  private boolean serves(String model, Role role) {
    return serving(model).anyMatch(worker -> worker.role().takes(role));
  }

  private static boolean isWithoutWorker(Decision decision) {
    return decision instanceof Decision.NoWorker none
        && switch (none.reason()) {
          case UNKNOWN_MODEL, NONE_HEALTHY, NO_HOME -> true;
          default -> false;
        };
  }
}
