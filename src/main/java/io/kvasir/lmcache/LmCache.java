package io.kvasir.lmcache;

import io.kvasir.lmcache.LmCacheView.InstanceView;
import io.kvasir.routing.CacheLayer;
import io.kvasir.routing.CacheMatches;
import io.kvasir.routing.RoutingContext;
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
import org.jspecify.annotations.Nullable;

/**
 * LMCache, as plugins and operators see it. Made when the configuration is read, since profiles are proven then; it
 * knows nothing and asks nobody until it is started. Thread-safe.
 */
public final class LmCache implements CacheLayer, AutoCloseable {
  private final LmCacheSettings settings;
  private final WorkerMap map;
  private volatile @Nullable Running running;

  /** What there is between start and close. */
  private record Running(Controller controller, Poller poller, Lookups lookups, ExecutorService executor) {}

  /** LMCache as configured. */
  public LmCache(LmCacheSettings settings) {
    this.settings = settings;
    this.map = new WorkerMap(settings.workers());
  }

  /**
   * Begins to ask the controller.
   *
   * @param fleet ids of all workers; may take a moment
   * @param chosen whether requests that choose no profile themselves go by one that looks at LMCache's figures
   * @param metrics where it counts; once per registry
   */
  public synchronized void start(Supplier<Set<String>> fleet, BooleanSupplier chosen, Metrics metrics) {
    if (running != null) {
      throw new IllegalStateException("LMCache has been started already");
    }
    LmCacheMetrics counted = new LmCacheMetrics(metrics);
    ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
    Controller controller = new Controller(settings.controller(), settings.patience(), executor);
    Poller poller = new Poller(controller, settings, map, fleet, chosen, counted);
    counted.watch(poller::state, map);
    Lookups lookups = new Lookups(controller, settings, map, executor, System::nanoTime, counted);
    running = new Running(controller, poller, lookups, executor);
  }

  @Override
  public Keys keys() {
    Running now = running;
    return now == null ? Keys.UNKNOWN : now.poller.keys();
  }

  @Override
  public CompletionStage<String> find(RoutingContext context) {
    Running now = running;
    return now == null ? CompletableFuture.completedStage(CacheMatches.UNKNOWN) : now.lookups.find(context);
  }

  @Override
  public Duration patience() {
    return settings.patience();
  }

  /** What is known as of now. */
  public LmCacheView view() {
    Running now = running;
    Poller.State state = now == null ? Poller.State.START : now.poller.state();
    List<InstanceView> instances = state.instances().values().stream()
        .map(
            instance ->
                new InstanceView(
                    instance.id(),
                    state.misfits().unmapped().contains(instance.id())
                        ? Optional.empty()
                        : Optional.of(map.workerOf(instance.id())),
                    instance.keys(),
                    instance.ranks(),
                    instance.stale(),
                    instance.beating() ? Optional.of(Duration.ofNanos(instance.ageNanos())) : Optional.empty()))
        .toList();
    return new LmCacheView(
        settings.controller().toString(),
        state.answers() == 0
            ? Optional.empty()
            : Optional.of(Duration.ofNanos(System.nanoTime() - state.answeredNanos())),
        Optional.ofNullable(state.failure()),
        instances,
        state.misfits().sentences());
  }

  /** What is served with less than is configured, for readiness. */
  public List<String> degraded() {
    String failure = running == null ? null : view().failure().orElse(null);
    return failure == null
        ? List.of()
        : List.of("the LMCache controller %s does not answer: %s".formatted(settings.controller(), failure));
  }

  @Override
  public synchronized void close() {
    Running now = running;
    running = null;
    if (now != null) {
      now.poller.close();
      now.controller.close();
      now.executor.shutdownNow();
    }
  }
}
