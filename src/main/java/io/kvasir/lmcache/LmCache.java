package io.kvasir.lmcache;

import io.kvasir.http.HttpCalls;
import io.kvasir.lmcache.LmCacheView.CoordinatorView;
import io.kvasir.lmcache.LmCacheView.InstanceView;
import io.kvasir.routing.CacheLayer;
import io.kvasir.routing.CacheMatches;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * LMCache as plugins and operators see it: the front of this room. Profiles are compiled against it before it is
 * started; until then it knows nothing and opens no connection. Thread-safe.
 */
public final class LmCache implements CacheLayer, AutoCloseable {
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);

  private final LmCacheSettings settings;
  private final NanoClock clock;
  private final WorkerMap map;
  private volatile @Nullable Components running;

  /** The parts that exist between start and close. */
  private record Components(
      HttpCalls calls, ExecutorService executor, Poller poller, Lookups lookups, LookupComparisons comparisons,
      @Nullable PrefetchComponents prefetch) {}

  /** The parts that exist with a coordinator. */
  private record PrefetchComponents(Poller poller, Prefetcher prefetcher, boolean enabled) {}

  /** LMCache as configured; {@code clock} is the one that decisions use. */
  public LmCache(LmCacheSettings settings, NanoClock clock) {
    this.settings = settings;
    this.clock = clock;
    this.map = new WorkerMap(settings.workers());
  }

  /**
   * Starts polling where prompts are looked up, and the coordinator that prefetches if there is one. Once.
   *
   * @param fleet ids of all workers; may wait a moment
   * @param inUse whether requests use LMCache that choose no profile
   * @param costs of computing prompts
   * @param metrics to register in; once per registry
   */
  public synchronized void start(
      Supplier<Set<String>> fleet, BooleanSupplier inUse, CostModel costs, Metrics metrics) {
    if (running != null) {
      throw new IllegalStateException("LMCache has been started already");
    }
    LmCacheMetrics counters = new LmCacheMetrics(metrics);
    ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
    HttpCalls calls = new HttpCalls(CONNECT_TIMEOUT, null);
    KeyDirectorySettings directory = settings.directory();
    LookupSource source =
        directory == null
            ? new Controller(settings.service(), settings.lookups().timeout(), calls)
            : new KeyDirectory(settings, directory, calls);
    Poller poller = new Poller(source, settings, map, fleet, inUse, counters::recordPoll, clock);
    counters.watch(poller::snapshot, map, clock);
    Lookups lookups = new Lookups(source, settings, map, executor, clock, counters);
    PrefetchSettings prefetch = settings.prefetch();
    PrefetchComponents prefetching = null;
    if (prefetch != null) {
      Coordinator coordinator = new Coordinator(prefetch.coordinator(), calls);
      Poller coordinatorPoller =
          new Poller(coordinator, settings, map, fleet, inUse, counters::recordCoordinatorPoll, clock);
      counters.watchCoordinator(coordinatorPoller::snapshot);
      prefetching =
          new PrefetchComponents(
              coordinatorPoller,
              new Prefetcher(
                  coordinator, prefetch, settings, map, coordinatorPoller, poller, costs, counters, clock),
              prefetch.enabled());
    }
    running = new Components(
        calls, executor, poller, lookups, new LookupComparisons(settings, clock, counters), prefetching);
  }

  /**
   * Makes the coordinator fetch the part of a prompt that is far from its worker into the host's memory, where that is
   * configured and pays. Blocks within the prefetch's budget; throws nothing.
   */
  public void prefetch(PrefetchCandidate prompt) {
    Components now = running;
    PrefetchComponents prefetching = now == null ? null : now.prefetch;
    if (prefetching != null && prefetching.enabled) {
      prefetching.prefetcher.fetch(prompt);
    }
  }

  @Override
  public KeyCounts keys() {
    Components now = running;
    return now == null ? KeyCounts.UNKNOWN : now.poller.keys();
  }

  @Override
  public CompletionStage<CacheMatches> find(RoutingContext context) {
    Components now = running;
    if (now == null) {
      return CompletableFuture.completedStage(CacheMatches.UNKNOWN);
    }
    now.poller.noteUse();
    return now.lookups.find(context);
  }

  @Override
  public void compared(int reportedTokens, int foundTokens) {
    Components now = running;
    if (now != null) {
      now.comparisons.record(reportedTokens, foundTokens);
    }
  }

  @Override
  public Duration timeout() {
    return settings.lookups().timeout();
  }

  /** The state as of the latest polls. */
  public LmCacheView view() {
    Components now = running;
    Poller.PollSnapshot controller = now == null ? Poller.PollSnapshot.START : now.poller.snapshot();
    List<InstanceView> instances = controller.instances().values().stream()
        .map(
            instance ->
                new InstanceView(
                    instance.id(),
                    controller.mismatches().unmapped().contains(instance.id())
                        ? Optional.empty()
                        : Optional.of(map.workerOf(instance.id())),
                    instance.keys(),
                    instance.ranks(),
                    instance.stale(),
                    instance.alive() ? Optional.of(Duration.ofNanos(instance.ageNanos())) : Optional.empty()))
        .toList();
    Poller.PollSnapshot coordinator =
        now == null || now.prefetch == null ? Poller.PollSnapshot.START : now.prefetch.poller.snapshot();
    return new LmCacheView(
        settings.service().toString(),
        settings.serviceName(),
        controller.age(clock),
        Optional.ofNullable(controller.failure()),
        instances,
        Stream.concat(
            Stream.of(controller, coordinator).flatMap(one -> one.mismatches().messages().stream()).distinct(),
            lookupFaults().map(Problem::line)).toList(),
        Optional.ofNullable(settings.prefetch())
            .map(
                prefetch ->
                    new CoordinatorView(
                        prefetch.coordinator().toString(),
                        coordinator.age(clock),
                        Optional.ofNullable(coordinator.failure()),
                        List.copyOf(coordinator.instances().keySet()))));
  }

  /** Each service of LMCache that does not answer, or not as it should. */
  public List<Problem> problems() {
    LmCacheView view = view();
    Stream<Problem> service =
        view.failure().stream().map(why -> silent(view.serviceName(), view.service(), why));
    Stream<Problem> coordinator =
        view.coordinator().stream()
            .flatMap(one -> one.failure().stream().map(why -> silent("coordinator", one.address(), why)));
    return Stream.of(service, coordinator, lookupFaults()).flatMap(faults -> faults).toList();
  }

  private static Problem silent(String service, String address, String why) {
    return Problem.warning(
        "the LMCache %s %s does not answer: %s".formatted(service, address, why),
        "see that it runs and that kvasir.lmcache names its address; requests are routed without it meanwhile");
  }

  private Stream<Problem> lookupFaults() {
    Components now = running;
    return now == null
        ? Stream.empty()
        : Stream.of(now.lookups.fault(), now.comparisons.fault()).flatMap(Optional::stream);
  }

  @Override
  public synchronized void close() {
    Components now = running;
    running = null;
    if (now != null) {
      now.poller.close();
      if (now.prefetch != null) {
        now.prefetch.poller.close();
      }
      now.calls.close();
      now.executor.shutdownNow();
    }
  }
}
