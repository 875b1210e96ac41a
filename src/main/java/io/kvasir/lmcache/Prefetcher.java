package io.kvasir.lmcache;

import io.kvasir.index.Tier;
import io.kvasir.lmcache.Instances.Instance;
import io.kvasir.routing.CacheMatches.Match;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.EngineCost;
import io.kvasir.routing.cost.LoadingCost;
import java.io.IOException;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.Comparator;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * Has a worker's LMCache fetch what it holds of a prompt on a disk or in a remote store into the host's memory, where
 * that costs less than computing it, while the request waits a little. Thread-safe.
 */
final class Prefetcher {
  private static final long FIRST_PAUSE_MS = 2;
  private static final long LONGEST_PAUSE_MS = 20;

  private final Coordinator coordinator;
  private final PrefetchSettings settings;
  private final long staleNanos;
  private final WorkerMap map;
  private final Poller coordinatorPoller;
  private final Poller controllerPoller;
  private final CostModel costs;
  private final LmCacheMetrics metrics;
  private final Semaphore permits;
  private final LmCacheCircuitBreaker breaker = new LmCacheCircuitBreaker(System::nanoTime);

  /** What became of a prompt that lies far away. */
  enum PrefetchOutcome {
    /** It has been fetched. */
    COMPLETED,
    /** The coordinator saw nothing to fetch. */
    NOTHING,
    /** It was not fetched in time; it may be later. */
    LATE,
    /** The coordinator answered with an error. */
    REFUSED,
    /** It could not be reached, or answered what cannot be read. */
    FAILED,
    /** Fetching takes longer than the request would wait, or saves too little. */
    NOT_WORTH,
    /** The coordinator does not know the worker's instance. */
    UNKNOWN_INSTANCE,
    /** The coordinator had failed before and was not asked. */
    LEFT_ALONE,
    /** As many prefetches as may be were under way. */
    CROWDED,
    /** The prompt's tokens are not known. */
    NO_TOKENS
  }

  /**
   * Prefetches by a coordinator.
   *
   * @param known the instances that it knows
   * @param held the instances that the controller knows
   * @param costs what it costs engines to compute prompts
   */
  Prefetcher(
      Coordinator coordinator,
      PrefetchSettings settings,
      LmCacheSettings limits,
      WorkerMap map,
      Poller known,
      Poller held,
      CostModel costs,
      LmCacheMetrics metrics) {
    this.coordinator = coordinator;
    this.settings = settings;
    this.staleNanos = limits.staleAfter().toNanos();
    this.map = map;
    this.coordinatorPoller = known;
    this.controllerPoller = held;
    this.costs = costs;
    this.metrics = metrics;
    this.permits = new Semaphore(limits.maxLookups());
  }

  /** Waits no longer than the budget, for what is worth it. */
  void fetch(PrefetchCandidate prompt) {
    Match match = prompt.match();
    if (match == null || match.tier().index() <= Tier.HOST.index()) {
      return;
    }
    coordinatorPoller.keys();
    metrics.recordPrefetch(fetch(prompt, match));
  }

  private PrefetchOutcome fetch(PrefetchCandidate prompt, Match match) {
    if (!pays(settings, costs.of(prompt.worker().deployment()), prompt, match)) {
      return PrefetchOutcome.NOT_WORTH;
    }
    String instance = instance(prompt.worker().id());
    if (instance == null) {
      return PrefetchOutcome.UNKNOWN_INSTANCE;
    }
    if (!breaker.tryAcquire()) {
      return PrefetchOutcome.LEFT_ALONE;
    }
    if (!permits.tryAcquire()) {
      return PrefetchOutcome.CROWDED;
    }
    try {
      return fetch(prompt, instance);
    } finally {
      permits.release();
    }
  }

  /** Whether fetching is over within the budget and takes so much less than computing as it has to. */
  static boolean pays(PrefetchSettings settings, EngineCost engine, PrefetchCandidate prompt, Match match) {
    int far = Math.min(match.tokens(), prompt.tokens() - 1) - prompt.held();
    if (far < settings.leastTokens()) {
      return false;
    }
    int lacking = prompt.tokens() - prompt.held();
    double computing = engine.prefillMs(lacking, prompt.tokens()) - engine.prefillMs(lacking - far, prompt.tokens());
    double fetching = LoadingCost.of(match.tier()).ms(far);
    return fetching <= settings.budget().toNanos() / 1e6 && computing - fetching >= settings.leastSavingMs();
  }

  private @Nullable String instance(String worker) {
    Poller.PollSnapshot state = coordinatorPoller.snapshot();
    if (state.answers() == 0 || System.nanoTime() - state.answeredNanos() > staleNanos) {
      return null;
    }
    return state.instances().values().stream()
        .filter(instance -> !instance.isStale() && map.workerOf(instance.id()).equals(worker))
        .map(Instance::id)
        .findFirst()
        .orElse(null);
  }

  /** The controller tells of every rank of an engine, the coordinator of the engine alone. */
  private int ranks(String worker) {
    return controllerPoller.snapshot().instances().values().stream()
        .filter(instance -> map.workerOf(instance.id()).equals(worker))
        .map(Instance::ranks)
        .max(Comparator.naturalOrder())
        .orElse(1);
  }

  private PrefetchOutcome fetch(PrefetchCandidate prompt, String instance) {
    long until = System.nanoTime() + settings.budget().toNanos();
    int[] tokens = tokens(prompt);
    if (tokens == null) {
      return PrefetchOutcome.NO_TOKENS;
    }
    String salt = prompt.facts().field("cache_salt");
    Coordinator.PrefetchRequest order =
        new Coordinator.PrefetchRequest(
            instance,
            prompt.worker().deployment().model(),
            ranks(prompt.worker().id()),
            tokens,
            salt == null ? "" : salt);
    PrefetchOutcome result;
    try {
      result = follow(order, until);
      breaker.record(true);
    } catch (HttpTimeoutException late) {
      breaker.record(false);
      result = PrefetchOutcome.LATE;
    } catch (JsonClient.ErrorStatusException refused) {
      // It may be this worker's instance alone, and costs the request no wait.
      breaker.record(true);
      result = PrefetchOutcome.REFUSED;
    } catch (IOException failed) {
      breaker.record(false);
      result = PrefetchOutcome.FAILED;
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
      result = PrefetchOutcome.FAILED;
    }
    return result;
  }

  private PrefetchOutcome follow(Coordinator.PrefetchRequest order, long until)
      throws IOException, InterruptedException {
    Duration left = left(until);
    if (left.isZero()) {
      return PrefetchOutcome.LATE;
    }
    String id = coordinator.submit(order, left);
    if (id.isEmpty()) {
      return PrefetchOutcome.NOTHING;
    }
    long pause = FIRST_PAUSE_MS;
    for (left = left(until); !left.isZero(); left = left(until)) {
      if (completed(order.instance(), id, left)) {
        return PrefetchOutcome.COMPLETED;
      }
      Thread.sleep(Math.min(pause, left(until).toMillis()));
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
    }
    return PrefetchOutcome.LATE;
  }

  /** A coordinator that has taken the order and has no time left to say that it is done is merely late. */
  private boolean completed(String instance, String id, Duration left) throws IOException, InterruptedException {
    try {
      return coordinator.completed(instance, id, left);
    } catch (HttpTimeoutException late) {
      return false;
    }
  }

  private static Duration left(long until) {
    return Duration.ofNanos(Math.max(0, until - System.nanoTime()));
  }

  /** Null as well when the request's own template refuses it: its engine will say so. */
  private static int @Nullable [] tokens(PrefetchCandidate prompt) {
    try {
      return prompt.facts().tokens();
    } catch (RuntimeException unreadable) {
      return null;
    }
  }
}
