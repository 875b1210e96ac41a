package io.kvasir.app.node;

import io.kvasir.cell.Cells;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.engines.EngineIdentity;
import io.kvasir.engines.EngineInquiry;
import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.client.PodKeys;
import io.kvasir.prompt.template.EngineVersion;
import io.kvasir.prompt.template.Preparation;
import java.net.URI;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The makes and versions of pods' engines, on which depends how they prepare prompts: a pod is asked as soon as it is
 * healthy, once more when it was lost, and whenever that is due since its engine may have been replaced. One thread
 * asks; any thread may read.
 */
final class EngineVersions {
  private static final Logger LOG = LoggerFactory.getLogger(EngineVersions.class);

  /** Pods that are asked at a time. */
  private static final int AT_ONCE = 32;

  private final Cells cells;
  private final EngineInquiry inquiry;
  private final PodKeys keys;
  private final ExecutorService background;
  private final Duration timeout;
  private volatile Map<String, Engine> byPod = Map.of();

  /**
   * An engine as it told of itself.
   *
   * @param losses how often its pod had been lost by then
   */
  private record Engine(EngineIdentity identity, EngineVersion version, int losses) {
    Preparation preparation() {
      return Preparation.of(version);
    }
  }

  /**
   * Knows of no engine yet.
   *
   * @param calls owned by the caller
   * @param keys the API keys of pods
   * @param background runs what waits for engines
   * @param timeout of each question
   */
  EngineVersions(Cells cells, HttpCalls calls, PodKeys keys, ExecutorService background, Duration timeout) {
    this.cells = cells;
    this.inquiry = new EngineInquiry(calls, timeout);
    this.keys = keys;
    this.background = background;
    this.timeout = timeout;
  }

  /**
   * Asks the healthy pods that have not told yet or were lost since, and forgets those that are gone. Waits for them,
   * though not for long.
   *
   * @param all whether all others are asked again, too
   */
  void refresh(boolean all) throws InterruptedException {
    Map<String, Engine> before = byPod;
    Map<String, Engine> now = new HashMap<>();
    Map<String, WorkerSummary> pods = new LinkedHashMap<>();
    for (WorkerSummary worker : cells.workers()) {
      Engine known = before.get(worker.pod());
      if (known != null) {
        now.put(worker.pod(), known);
      }
      if (isHealthy(worker) && (all || known == null || known.losses != worker.losses())) {
        pods.putIfAbsent(worker.pod(), worker);
      }
    }
    Semaphore permits = new Semaphore(AT_ONCE);
    Map<String, Engine> told = new ConcurrentHashMap<>();
    background.invokeAll(
        pods.values().stream()
            .map(pod -> (Callable<@Nullable Void>) () -> {
              permits.acquire();
              try {
                Engine engine = engine(pod, before.get(pod.pod()));
                if (engine != null) {
                  told.put(pod.pod(), engine);
                }
              } finally {
                permits.release();
              }
              return null;
            })
            .toList(),
        2 * timeout.toMillis(), TimeUnit.MILLISECONDS);
    now.putAll(told);
    byPod = Map.copyOf(now);
  }

  private @Nullable Engine engine(WorkerSummary pod, @Nullable Engine known) throws InterruptedException {
    try {
      EngineIdentity identity =
          inquiry.identity(pod.url(), keys.of(pod.url()), known == null ? null : known.identity);
      EngineVersion version =
          EngineVersion.of(identity.kind().label(), identity.version(), identity.reasoningParser());
      return new Engine(identity, version, pod.losses());
    } catch (HttpCallException silent) {
      LOG.debug("pod {} did not tell its version: {}", pod.pod(), silent.getMessage());
      return null;
    }
  }

  /** The versions of a model's healthy engines: that of most first, of each way to prepare prompts one. */
  List<EngineVersion> of(String model) {
    Map<String, Engine> known = byPod;
    Map<Preparation, Integer> pods = new HashMap<>();
    Map<Preparation, EngineVersion> versions = new HashMap<>();
    healthy(model).forEach(worker -> {
      Engine engine = known.get(worker.pod());
      if (engine != null) {
        pods.merge(engine.preparation(), 1, Integer::sum);
        versions.putIfAbsent(engine.preparation(), engine.version);
      }
    });
    return pods.keySet().stream()
        .sorted(Comparator.<Preparation>comparingInt(pods::get).reversed().thenComparing(Preparation::name))
        .map(versions::get)
        .toList();
  }

  /** How each pod's engine prepares prompts, by the pod's name. */
  Map<String, String> preparations() {
    Map<String, String> preparations = new HashMap<>();
    byPod.forEach((pod, engine) -> preparations.put(pod, engine.preparation().name()));
    return preparations;
  }

  /** A healthy pod of a model; null when there is none. */
  @Nullable URI pod(String model) {
    return healthy(model).map(WorkerSummary::url).findAny().orElse(null);
  }

  /** The same, one that prepares prompts as a version does if there is any. */
  @Nullable URI pod(String model, EngineVersion version) {
    Map<String, Engine> known = byPod;
    Predicate<WorkerSummary> alike = worker -> {
      Engine engine = known.get(worker.pod());
      return engine != null && engine.preparation().equals(Preparation.of(version));
    };
    URI its = healthy(model).filter(alike).map(WorkerSummary::url).findAny().orElse(null);
    return its == null ? pod(model) : its;
  }

  private Stream<WorkerSummary> healthy(String model) {
    return cells.workers(model).stream().filter(EngineVersions::isHealthy);
  }

  private static boolean isHealthy(WorkerSummary worker) {
    return worker.health() == WorkerStatus.Health.HEALTHY;
  }
}
