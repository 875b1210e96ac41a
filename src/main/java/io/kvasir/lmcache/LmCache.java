package io.kvasir.lmcache;

import io.kvasir.lmcache.LmCacheView.CoordinatorView;
import io.kvasir.lmcache.LmCacheView.InstanceView;
import io.kvasir.routing.CacheLayer;
import io.kvasir.routing.CacheMatches;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.telemetry.Metrics;
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
 * LMCache, as plugins and operators see it. Made when the configuration is read, since profiles are proven then; it
 * knows nothing and asks nobody until it is started. Thread-safe.
 */
public final class LmCache implements CacheLayer, AutoCloseable {
  private final LmCacheSettings settings;
  private final WorkerMap map;
  private volatile @Nullable Components running;

  /** What there is between start and close. */
  private record Components(
      Controller controller, Poller poller, Lookups lookups, @Nullable PrefetchComponents fetching,
      ExecutorService executor) {}

  /** What there is with a coordinator. */
  private record PrefetchComponents(Coordinator coordinator, Poller poller, Prefetcher prefetches, boolean enabled) {}

  /** LMCache as configured. */
  public LmCache(LmCacheSettings settings) {
    this.settings = settings;
    this.map = new WorkerMap(settings.workers());
  }

  /**
   * Begins to ask the controller, and the coordinator if there is one.
   *
   * @param fleet ids of all workers; may take a moment
   * @param chosen whether requests that choose no profile themselves go by one that looks at LMCache's figures
   * @param costs what it costs engines to compute prompts
   * @param metrics where it counts; once per registry
   */
  public synchronized void start(
      Supplier<Set<String>> fleet, BooleanSupplier chosen, CostModel costs, Metrics metrics) {
    if (running != null) {
      throw new IllegalStateException("LMCache has been started already");
    }
    LmCacheMetrics counted = new LmCacheMetrics(metrics);
    ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
    Controller controller = new Controller(settings.controller(), settings.timeout(), executor);
    Poller poller = new Poller(controller, settings, map, fleet, chosen, counted::recordPoll);
    counted.watch(poller::snapshot, map);
    Lookups lookups = new Lookups(controller, settings, map, executor, System::nanoTime, counted);
    PrefetchSettings prefetch = settings.prefetch();
    PrefetchComponents fetching = null;
    if (prefetch != null) {
      Coordinator coordinator = new Coordinator(prefetch.coordinator(), executor);
      Poller known = new Poller(coordinator, settings, map, fleet, chosen, counted::recordCoordinatorPoll);
      counted.watchCoordinator(known::snapshot);
      Prefetcher prefetches = new Prefetcher(coordinator, prefetch, settings, map, known, poller, costs, counted);
      fetching = new PrefetchComponents(coordinator, known, prefetches, prefetch.enabled());
    }
    running = new Components(controller, poller, lookups, fetching, executor);
  }

  /**
   * Has the coordinator fetch what a prompt's worker holds far from its host's memory, where that is configured and
   * pays. Waits for it within its budget, on a thread that may block; throws nothing.
   */
  public void prefetch(PrefetchCandidate prompt) {
    Components now = running;
    PrefetchComponents fetching = now == null ? null : now.fetching;
    if (fetching != null && fetching.enabled) {
      fetching.prefetches.fetch(prompt);
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
    return now == null ? CompletableFuture.completedStage(CacheMatches.UNKNOWN) : now.lookups.find(context);
  }

  @Override
  public Duration timeout() {
    return settings.timeout();
  }

  /** What is known as of now. */
  public LmCacheView view() {
    Components now = running;
    Poller.PollSnapshot state = now == null ? Poller.PollSnapshot.START : now.poller.snapshot();
    List<InstanceView> instances = state.instances().values().stream()
        .map(
            instance ->
                new InstanceView(
                    instance.id(),
                    state.mismatches().unmapped().contains(instance.id())
                        ? Optional.empty()
                        : Optional.of(map.workerOf(instance.id())),
                    instance.keys(),
                    instance.ranks(),
                    instance.stale(),
                    instance.alive() ? Optional.of(Duration.ofNanos(instance.ageNanos())) : Optional.empty()))
        .toList();
    Poller.PollSnapshot coordinated = coordinated(now);
    return new LmCacheView(
        settings.controller().toString(),
        state.age(),
        Optional.ofNullable(state.failure()),
        instances,
        Stream.of(state, coordinated).flatMap(one -> one.mismatches().messages().stream()).distinct().toList(),
        Optional.ofNullable(settings.prefetch())
            .map(
                prefetch ->
                    new CoordinatorView(
                        prefetch.coordinator().toString(),
                        coordinated.age(),
                        Optional.ofNullable(coordinated.failure()),
                        List.copyOf(coordinated.instances().keySet()))));
  }

  private static Poller.PollSnapshot coordinated(@Nullable Components now) {
    return now == null || now.fetching == null ? Poller.PollSnapshot.START : now.fetching.poller.snapshot();
  }

  /** What is served with less than is configured, for readiness. */
  public List<String> degraded() {
    LmCacheView view = view();
    Stream<String> controller =
        view.failure()
            .map(why -> "the LMCache controller %s does not answer: %s".formatted(view.controller(), why))
            .stream();
    Stream<String> coordinator =
        view.coordinator().stream()
            .flatMap(
                one ->
                    one.failure()
                        .map(why -> "the LMCache coordinator %s does not answer: %s".formatted(one.address(), why))
                        .stream());
    return Stream.concat(controller, coordinator).toList();
  }

  @Override
  public synchronized void close() {
    Components now = running;
    running = null;
    if (now != null) {
      now.poller.close();
      now.controller.close();
      if (now.fetching != null) {
        now.fetching.poller.close();
        now.fetching.coordinator.close();
      }
      now.executor.shutdownNow();
    }
  }
}
