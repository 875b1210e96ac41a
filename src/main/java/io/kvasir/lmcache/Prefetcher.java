package io.kvasir.lmcache;

import io.kvasir.http.CircuitBreaker;
import io.kvasir.http.HttpCallException;
import io.kvasir.index.Tier;
import io.kvasir.lmcache.Instances.Instance;
import io.kvasir.routing.CacheMatches.Match;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.EngineCost;
import io.kvasir.routing.cost.LoadingCost;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * Prefetches: a worker's LMCache fetches the part of a prompt that it holds on a disk or in a remote store into the
 * host's memory, where that costs less than computing it, while the request waits within a budget. Thread-safe.
 */
final class Prefetcher {
  private static final long MIN_PAUSE_MS = 2;
  private static final long MAX_PAUSE_MS = 20;
  private static final CircuitBreaker.Settings BREAKER = CircuitBreaker.Settings.of(3, Duration.ofSeconds(1));

  private final Coordinator coordinator;
  private final PrefetchSettings settings;
  private final long staleNanos;
  private final int leastRanks;
  private final WorkerMap map;
  private final Poller coordinatorPoller;
  private final Poller controllerPoller;
  private final CostModel costs;
  private final LmCacheMetrics metrics;
  private final Semaphore permits;
  private final NanoClock clock;
  private final CircuitBreaker breaker;

  /**
   * Prefetches by a coordinator.
   *
   * @param costs of computing prompts
   */
  Prefetcher(
      Coordinator coordinator,
      PrefetchSettings settings,
      LmCacheSettings limits,
      WorkerMap map,
      Poller coordinatorPoller,
      Poller controllerPoller,
      CostModel costs,
      LmCacheMetrics metrics,
      NanoClock clock) {
    this.coordinator = coordinator;
    this.settings = settings;
    this.staleNanos = limits.polls().staleAfter().toNanos();
    KeyDirectorySettings directory = limits.directory();
    this.leastRanks = directory == null ? 1 : directory.worldSize();
    this.map = map;
    this.coordinatorPoller = coordinatorPoller;
    this.controllerPoller = controllerPoller;
    this.costs = costs;
    this.metrics = metrics;
    this.clock = clock;
    this.breaker = new CircuitBreaker(BREAKER, clock);
    this.permits = new Semaphore(limits.lookups().maxConcurrent());
  }

  /** Prefetches a prompt if that pays. Blocks no longer than the budget. */
  void fetch(PrefetchCandidate prompt) {
    Match match = prompt.match();
    if (match == null || match.tier().index() <= Tier.HOST.index()) {
      return;
    }
    // Keeps the instances of the one and the ranks of the other up to date.
    coordinatorPoller.noteUse();
    controllerPoller.noteUse();
    metrics.recordPrefetch(fetch(prompt, match));
  }

  private PrefetchOutcome fetch(PrefetchCandidate prompt, Match match) {
    if (!pays(settings, costs.of(prompt.worker().instance()), prompt, match)) {
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

  /** Whether fetching fits in the budget and saves as much as it has to, compared with computing. */
  static boolean pays(PrefetchSettings settings, EngineCost engine, PrefetchCandidate prompt, Match match) {
    int far = Math.min(match.tokens(), prompt.tokens() - 1) - prompt.held();
    if (far < settings.minTokens()) {
      return false;
    }
    int uncached = prompt.tokens() - prompt.held();
    double computeMs =
        engine.prefillMs(uncached, prompt.tokens()) - engine.prefillMs(uncached - far, prompt.tokens());
    double fetchMs = LoadingCost.of(match.tier()).ms(far);
    return fetchMs <= settings.budget().toNanos() / 1e6 && computeMs - fetchMs >= settings.minSavingMs();
  }

  private @Nullable String instance(String worker) {
    Poller.PollSnapshot snapshot = coordinatorPoller.snapshot();
    if (snapshot.answers() == 0 || clock.nanos() - snapshot.answeredNanos() > staleNanos) {
      return null;
    }
    return snapshot.instances().values().stream()
        .filter(instance -> !instance.isStale() && map.workerOf(instance.id()).equals(worker))
        .map(Instance::id)
        .findFirst()
        .orElse(null);
  }

  /** The ranks of a worker's engine: the controller lists each, the coordinator only the engine. */
  private int ranks(String worker) {
    return controllerPoller.snapshot().instances().values().stream()
        .filter(instance -> map.workerOf(instance.id()).equals(worker))
        .map(Instance::ranks)
        .reduce(leastRanks, Math::max);
  }

  private PrefetchOutcome fetch(PrefetchCandidate prompt, String instance) {
    long deadline = clock.nanos() + settings.budget().toNanos();
    int[] tokens = tokens(prompt);
    if (tokens == null) {
      return PrefetchOutcome.NO_TOKENS;
    }
    String salt = prompt.facts().field("cache_salt");
    Coordinator.PrefetchRequest request =
        new Coordinator.PrefetchRequest(
            instance,
            prompt.worker().deployment().model(),
            ranks(prompt.worker().id()),
            tokens,
            salt == null ? "" : salt);
    PrefetchOutcome outcome;
    try {
      outcome = submitAndAwait(request, deadline);
      breaker.onSuccess();
    } catch (HttpCallException failed) {
      outcome = outcome(failed.kind());
      // An error status may concern this worker's instance alone, and costs the request no wait.
      if (outcome == PrefetchOutcome.REFUSED) {
        breaker.onSuccess();
      } else {
        breaker.onFailure(String.valueOf(failed.getMessage()));
      }
    } catch (IOException failed) {
      breaker.onFailure(String.valueOf(failed.getMessage()));
      outcome = PrefetchOutcome.FAILED;
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
      outcome = PrefetchOutcome.FAILED;
    }
    return outcome;
  }

  private static PrefetchOutcome outcome(HttpCallException.Kind failure) {
    return switch (failure) {
      case TIMEOUT -> PrefetchOutcome.LATE;
      case STATUS -> PrefetchOutcome.REFUSED;
      case TOO_LARGE, NOT_JSON, IO -> PrefetchOutcome.FAILED;
    };
  }

  private PrefetchOutcome submitAndAwait(Coordinator.PrefetchRequest request, long deadline)
      throws IOException, InterruptedException {
    Duration left = left(deadline);
    if (left.isZero()) {
      return PrefetchOutcome.LATE;
    }
    String id = coordinator.submit(request, left);
    if (id.isEmpty()) {
      return PrefetchOutcome.NOTHING;
    }
    long pause = MIN_PAUSE_MS;
    for (left = left(deadline); !left.isZero(); left = left(deadline)) {
      if (completed(request.instance(), id, left)) {
        return PrefetchOutcome.COMPLETED;
      }
      Thread.sleep(Math.min(pause, left(deadline).toMillis()));
      pause = Math.min(2 * pause, MAX_PAUSE_MS);
    }
    return PrefetchOutcome.LATE;
  }

  /** A status that does not come within the time left means late, not failed: the prefetch was accepted. */
  private boolean completed(String instance, String id, Duration left) throws IOException, InterruptedException {
    try {
      return coordinator.completed(instance, id, left);
    } catch (HttpCallException failed) {
      if (failed.kind() == HttpCallException.Kind.TIMEOUT) {
        return false;
      }
      throw failed;
    }
  }

  private Duration left(long deadline) {
    return Duration.ofNanos(Math.max(0, deadline - clock.nanos()));
  }

  /** The prompt's tokens; null as well when the model's template rejects the request, as its engine will. */
  private static int @Nullable [] tokens(PrefetchCandidate prompt) {
    try {
      return prompt.facts().tokens();
    } catch (RuntimeException unreadable) {
      return null;
    }
  }
}
