package io.kvasir.cell.worker;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.EventMode;
import io.kvasir.cell.HitOutcome;
import io.kvasir.cell.LearntEngines;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.events.ChunkHints;
import io.kvasir.cell.events.EventState;
import io.kvasir.index.WorkerBlocks;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import io.kvasir.routing.cost.PrefillSample;
import io.kvasir.time.NanoClock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A worker in its slot: who it is, what is booked on it, whether it is well, what it holds ({@link WorkerCache}) and
 * how its event stream comes along. The same worker that comes back after its removal is a new member.
 */
public final class Member {
  private static final Logger log = LoggerFactory.getLogger(Member.class);
  private static final int TOO_MANY_REQUESTS = 429;

  private volatile Worker worker;
  private volatile PodSpec pod;
  private final WorkerLoad load;
  private final ReadingProgress reading = new ReadingProgress();
  private final WorkerHealth health;
  private final CacheHitAccuracy accuracy;
  private final ChangeCounter changes;
  private final NanoClock clock;
  private final RequestListener listener;
  private final EventStreamHealth eventStreamHealth;
  private final WorkerCache cache;
  private final SendOrder sendOrder = new SendOrder();
  private final PullYield pullYield = new PullYield();
  private volatile boolean draining;
  private volatile EngineReport report = EngineReport.NONE;

  /** A listener to the ends of requests on members. */
  public interface RequestListener {
    /** A request is over. */
    void requestEnded(ServedRequest request, Member member, Outcome outcome);

    /** A worker has read a prompt that was booked on it: its queue is shorter. */
    void promptRead();

    /** What a prompt's first token took is known. */
    void prefillCompleted(Member member, PrefillSample prefill);

    /**
     * An answer reported how many tokens of its prompt were cached.
     *
     * @param expected as the index had it, at least 1
     * @param outcome how that compares with the answer
     */
    void cacheHitsReported(Member member, int expected, int found, HitOutcome outcome);

    /**
     * An answer showed how many tokens of its prompt a worker found in another one's memory.
     *
     * @param expected to be found, at least 1
     * @param found of these
     */
    void pulled(Member member, int expected, int found);

    /** An answer showed what a cache beside the engine held of a prompt. */
    void hintsReported(Member member, ChunkHints.Findings findings);
  }

  /**
   * A worker that has just got its slot.
   *
   * @param engines what is known of pods' engines
   */
  public Member(
      Worker worker,
      PodSpec pod,
      WorkerHealth health,
      WorkerBlocks blocks,
      CellSettings settings,
      LearntEngines engines,
      NanoClock clock,
      ChangeCounter revision,
      RequestListener onEnd) {
    this.worker = worker;
    this.pod = pod;
    this.load = new WorkerLoad(worker.maxInFlight());
    this.health = health;
    this.accuracy = new CacheHitAccuracy(settings.accuracy(), revision);
    this.clock = clock;
    this.changes = revision;
    this.listener = onEnd;
    this.eventStreamHealth = new EventStreamHealth(pod);
    this.cache = new WorkerCache(
        this::worker, this::pod, () -> engines.of(worker().pod()), load, blocks, settings.prediction(), clock,
        revision);
  }

  /** The worker it is, in its slot. */
  public Worker worker() {
    return worker;
  }

  /** Its pod, as the operator describes it. */
  public PodSpec pod() {
    return pod;
  }

  /** Another description of its pod, whose engine is the same. Called by the cell's actor alone. */
  public void describe(PodSpec now) {
    pod = now;
    worker = now.worker(worker.rank(), worker.slot());
    changes.increment();
  }

  /** What is booked on it. */
  public WorkerLoad load() {
    return load;
  }

  /** Whether requests may go to it. */
  public WorkerHealth health() {
    return health;
  }

  /** What it holds, as the index and its events know, and what it will hold. */
  public WorkerCache cache() {
    return cache;
  }

  /** Whether the index is right about it. */
  public CacheHitAccuracy accuracy() {
    return accuracy;
  }

  /** Its engine's latest load report. */
  public EngineReport report() {
    return report;
  }

  /** Its engine sent a load report, or what it sent is too old: {@link EngineReport#NONE}. */
  public void report(EngineReport now) {
    EngineReport before = report;
    if (!now.equals(EngineReport.NONE)) {
      health.stallDetector().reported(before, now, clock.nanos());
    }
    if (!before.equals(now)) {
      report = now;
      changes.increment();
    }
  }

  /** The share of what it pulls from others, or they from it, that is found there: 0 to 1. */
  public double pullYield() {
    return pullYield.at(clock.nanos());
  }

  /**
   * An answer of this worker showed how many tokens of its prompt it found in another one's memory.
   *
   * @param source the other one
   * @param expected to be found, at least 1
   * @param found of these
   */
  public void pulled(Member source, int expected, int found) {
    pullYield.observed(expected, found, clock.nanos());
    source.pullYield.observed(expected, found, clock.nanos());
    listener.pulled(this, expected, found);
  }

  /** How late its events are, and what went wrong with them. */
  public EventStreamHealth eventStreamHealth() {
    return eventStreamHealth;
  }

  /** The time that it is measured by, in nanoseconds. */
  public long nanos() {
    return clock.nanos();
  }

  /** The requests that are decided for it and that others wait for. */
  public SendOrder sendOrder() {
    return sendOrder;
  }

  /** How the index learns what it holds. */
  public EventMode eventMode() {
    EventState now = cache.events();
    return EventMode.of(eventStreamHealth.status(now.connected()), now.suspect(), now.lastSequence());
  }

  /** Has it get nothing new, or again something. */
  public void drain(boolean drain) {
    draining = drain;
    changes.increment();
  }

  /** Whether it gets nothing new. */
  public boolean isDraining() {
    return draining;
  }

  /** Whether requests may go there as far as its circuit passes them. */
  public boolean isHealthy() {
    return !draining && health.isHealthy();
  }

  /** Whether requests may go there now. */
  public boolean isRoutable() {
    return isHealthy() && health.breaker().permits();
  }

  /** Whether it could do what another pod's worker does. */
  public boolean serves(Member other) {
    Role role = worker.role();
    return !worker.pod().equals(other.worker.pod())
        && (role == Role.BOTH || role == other.worker.role())
        && worker.models().containsAll(other.worker.models());
  }

  /** The first token of a prompt that was booked on it came. */
  public void promptRead() {
    progressed();
    listener.promptRead();
  }

  /** An answer that was booked on it will come as a whole. */
  public void beginSilent(Booking booking) {
    load.beginSilent(booking, clock.nanos());
  }

  /** It is to read a prompt that was booked on it. */
  public void beginReading(Booking booking) {
    reading.begun(booking.prefillMicros() * 1e-3, load.queueMs(), clock.nanos());
  }

  /** It has read a prompt that was booked on it, and is no longer pending, or nobody waits for that any more. */
  public void endReading() {
    reading.ended(load.queueMs(), clock.nanos());
  }

  /** Estimated milliseconds of prompts that it has probably read by now, of those that are booked as pending. */
  public double readMs() {
    long now = clock.nanos();
    return Math.min(load.queueMs(), Math.max(load.silentlyReadMs(now), reading.readMs(now)));
  }

  /** Something of an answer came. Cheap: called for every piece of it. */
  public void progressed() {
    health.stallDetector().progressed(clock.nanos());
  }

  /** Its event stream spoke. */
  public void onEvents() {
    progressed();
    health.reachability().onEvents();
  }

  /**
   * Handles the end of a request on this worker: the outcome counts for its health and for the accuracy of its index.
   * Whether an error answer was the worker's failure the {@link ErrorAnswers} of the cell find out.
   *
   * @param promptTokens as they were booked
   * @return what became of the forecast; null when nothing was predicted or reported
   */
  public @Nullable HitOutcome requestEnded(
      ServedRequest request, Outcome outcome, int promptTokens, HitPrediction forecast) {
    HitOutcome hits = null;
    switch (outcome) {
      case Outcome.Completed completed -> {
        health.onSuccess(clock.nanos());
        health.onServed(request.model());
        hits = compare(completed, promptTokens, forecast);
      }
      case Outcome.Cancelled _, Outcome.Preempted _ -> {}
      case Outcome.Refused refused -> {
        // Too many requests is an answer; unavailable may be what stands before an engine that died.
        if (refused.status() == TOO_MANY_REQUESTS) {
          health.reachability().onSuccess();
        }
      }
      case Outcome.UnknownModel unknown -> health.onUnknownModel(unknown);
      case Outcome.Failed failed -> {
        if (failed.transport()) {
          health.reachability().onConnectionLost(clock.nanos(), "a connection to it was refused or cut");
        }
      }
    }
    listener.requestEnded(request, this, outcome);
    return hits;
  }

  /**
   * The first token of a booked prompt came.
   *
   * @param queueMs what had been booked before it, estimated milliseconds
   */
  public void prefillCompleted(Booking booking, double queueMs, Outcome.Completed answer) {
    int uncached = booking.uncachedTokens();
    if (answer.cachedTokens() >= 0 && answer.promptTokens() > 0) {
      // The engine counts its own tokens, the booking those that decisions reckon with.
      double share = 1 - Math.min(1, (double) answer.cachedTokens() / answer.promptTokens());
      uncached = Math.max(1, (int) (share * booking.promptTokens()));
    }
    listener.prefillCompleted(this,
        new PrefillSample(booking.promptTokens(), uncached, queueMs, answer.ttftMicros() / 1e3));
  }

  /** A prompt that was only predicted on a worker with events does not measure its event stream. */
  private @Nullable HitOutcome compare(Outcome.Completed answer, int bookedTokens, HitPrediction forecast) {
    if (answer.cachedTokens() == Outcome.UNKNOWN || (!forecast.reported() && !pod.events().isEmpty())) {
      return null;
    }
    int prompt = answer.promptTokens() > 0 ? answer.promptTokens() : bookedTokens;
    int expected = forecast.expectedTokens(prompt);
    ChunkHints known = cache.hints();
    if (known != null && forecast.hinted().length > 0) {
      listener.hintsReported(
          this, known.learn(forecast.hinted(), forecast.blockSize(), expected, answer.cachedTokens(), prompt));
    }
    if (expected == 0) {
      return null;
    }
    int held = forecast.heldTokens(expected);
    if (forecast.reported() && cache.lastBlock().answered(held, answer.cachedTokens(), forecast.engineBlock())) {
      log.info(
          "worker {}: its engine {} the last block of what it holds of a prompt, as its answers show", worker.id(),
          cache.lastBlock().isRecomputed() ? "computes again" : "does not compute again any more");
    }
    HitOutcome hits = hitOutcome(expected, answer.cachedTokens(), forecast);
    listener.cacheHitsReported(this, expected, answer.cachedTokens(), hits);
    return hits;
  }

  private HitOutcome hitOutcome(int expected, int found, HitPrediction forecast) {
    if (found < expected && forecast.explainedByEviction(expected - found, cache.isHybrid(), cache.events())) {
      return HitOutcome.OVERTAKEN;
    }
    return accuracy.record(expected, found, forecast.engineBlock()) ? HitOutcome.BROKEN : HitOutcome.KEPT;
  }

  /** Whether requests may go to the worker now, its circuit breaker included, and why not. */
  public WorkerHealth.State healthState() {
    return health.state(clock.nanos());
  }

  /** How often its pod could not be reached any more. */
  public int losses() {
    return health.reachability().losses();
  }
}
