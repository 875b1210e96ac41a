package io.kvasir.cell.worker;

import io.kvasir.cell.CellSettings.HealthSettings;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.http.CircuitBreaker;
import io.kvasir.time.NanoClock;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Whether requests may go to a worker: its pod can be reached ({@link Reachability}), it moves ({@link StallDetector})
 * and does not answer with errors ({@link CircuitBreaker}). Thread-safe; time comes in, in nanoseconds.
 */
public final class WorkerHealth {
  private final Reachability reachability;
  private final StallDetector stallDetector;
  private final CircuitBreaker breaker;
  private final CircuitBreaker handOvers;
  private final ChangeCounter changes;
  private volatile long lastSuccess;
  private volatile Outcome.@Nullable UnknownModel unknownModel;
  private Health lastReported = Health.UNKNOWN;

  /** A worker's state, and what is wrong with it; empty while it is well. */
  public record State(Health health, String reason) {}

  /** The health of a worker of which nothing is known yet. Every change counts in {@code changes}. */
  public WorkerHealth(HealthSettings settings, Reachability reachability, NanoClock clock, ChangeCounter changes) {
    this.reachability = reachability;
    this.stallDetector = new StallDetector(settings.stall(), clock.nanos(), changes);
    CircuitBreaker.Settings circuit =
        new CircuitBreaker.Settings(
            settings.breakerFailures(), settings.breakerOpen(), settings.breakerOpen(), settings.breakerSuccesses());
    this.breaker = new CircuitBreaker(circuit, clock);
    this.handOvers = new CircuitBreaker(circuit, clock);
    this.changes = changes;
    this.lastSuccess = clock.nanos();
  }

  /** Whether its pod can be reached; shared with the pod's other ranks. */
  public Reachability reachability() {
    return reachability;
  }

  /** Whether it moves. */
  public StallDetector stallDetector() {
    return stallDetector;
  }

  /** Open after a run of error answers. Half-open, it permits all requests, and their answers decide. */
  public CircuitBreaker breaker() {
    return breaker;
  }

  /**
   * Open after a run of prompts whose KV blocks other workers were to receive from it and could not. It answers well
   * all the same: it just computes no prompts for others meanwhile. Half-open, it permits one prompt at a time: each
   * that is not received may cost its client the seconds that engines try for.
   */
  public CircuitBreaker handOvers() {
    return handOvers;
  }

  /** Whether requests may go there as far as its {@link #breaker} passes them. */
  boolean isHealthy() {
    return reachability.isReachable() && !stallDetector.wedged();
  }

  /** What is wrong with its answers, in words that follow its name; null while it answers well. */
  public @Nullable String answerFault() {
    Outcome.UnknownModel unknown = unknownModel;
    return unknown != null ? unknown.detail()
        : !breaker.isClosed() ? "its answers are errors (%s)".formatted(breaker.openReason().orElse(""))
        : handOverFault();
  }

  private @Nullable String handOverFault() {
    return handOvers.isClosed() ? null
        : "other workers cannot receive the KV blocks that it computes (%s), and compute prompts themselves"
            .formatted(handOvers.openReason().orElse(""));
  }

  State state(long now) {
    Outcome.UnknownModel unknown = unknownModel;
    String fault = unknown == null ? handOverFault() : unknown.detail();
    return !reachability.isReachable() ? new State(reachability.state(), reachability.reason())
        : stallDetector.wedged()
            ? new State(
                Health.WEDGED,
                "it has requests and nothing has come of them for %d ms"
                    .formatted(TimeUnit.NANOSECONDS.toMillis(stallDetector.stalledFor(now))))
        : !breaker.permits()
            ? new State(
                Health.UNHEALTHY,
                "its circuit is open after %s and enough others are left"
                    .formatted(breaker.openReason().orElse("")))
        : new State(Health.HEALTHY, fault == null ? "" : fault);
  }

  /** Its state if it is another than at the last call, otherwise null. Called by the cell's actor alone. */
  public @Nullable State pollChange(long now) {
    State state = state(now);
    if (state.health() == lastReported) {
      return null;
    }
    lastReported = state.health();
    return state;
  }

  /** An answer came that was not the worker's failure. */
  public void onSuccess(long now) {
    lastSuccess = now;
    reachability.onSuccess();
    if (breaker.onSuccess()) {
      changes.increment();
    }
    stallDetector.progressed(now);
  }

  /** The worker answered well for a model. */
  void onServed(String model) {
    Outcome.UnknownModel unknown = unknownModel;
    if (unknown != null && unknown.model().equals(model)) {
      unknownModel = null;
      changes.increment();
    }
  }

  /** The worker answered that it does not serve a model. */
  void onUnknownModel(Outcome.UnknownModel answer) {
    if (!answer.equals(unknownModel)) {
      unknownModel = answer;
      changes.increment();
    }
  }

  /** Another worker is to receive KV blocks from it. */
  public void beginHandOver() {
    boolean _ = handOvers.tryAcquire();
  }

  /** Another worker received KV blocks from it. */
  void onHandedOver() {
    if (handOvers.onSuccess()) {
      changes.increment();
    }
  }

  /**
   * Another worker failed to receive a prompt's KV blocks from it, and the prompt was computed elsewhere.
   *
   * @param reason what that one answered, for people
   */
  void onNotHandedOver(String reason) {
    handOvers.onFailure(reason);
    if (!handOvers.isClosed()) {
      changes.increment();
    }
  }

  /** The engine's process has ended: how it did says nothing of the next one. */
  public void onProcessEnded(long now) {
    stallDetector.progressed(now);
    breaker.reset();
    handOvers.reset();
    unknownModel = null;
    changes.increment();
  }

  /**
   * The worker answered with an error of its own; without effect when it has answered well since.
   *
   * @param reason what its answers were, for people
   */
  public void onFailure(long at, String reason) {
    if (lastSuccess - at > 0) {
      return;
    }
    breaker.onFailure(reason);
    if (!breaker.isClosed()) {
      changes.increment();
    }
  }
}
