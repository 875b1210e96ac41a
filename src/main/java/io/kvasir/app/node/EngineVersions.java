package io.kvasir.app.node;

import io.kvasir.cell.Cells;
import io.kvasir.cell.LearntEngines.LearntEngine;
import io.kvasir.cell.LearntEngines.LearntModel;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.Pods;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.engines.EngineAddress;
import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EngineIdentity;
import io.kvasir.engines.EngineClient;
import io.kvasir.engines.EngineKind;
import io.kvasir.engines.ServedModel;
import io.kvasir.http.ApiPath;
import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.client.PodKeys;
import io.kvasir.prompt.chat.EngineGroup;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.SglangRule;
import io.kvasir.prompt.chat.SglangVersion;
import io.kvasir.routing.Role;
import java.net.URI;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
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
 * The makes and versions of pods' engines, on which depends how they prepare prompts, the size of their blocks, and
 * what they tell of their models. A pod is asked when it is new and when it is healthy for the first time, once more
 * when it was lost or described anew, of its models when it has others, such as LoRA adapters that it has loaded, and
 * now and then since its engine may have been replaced; until it answers it is what was learnt of it when it was added,
 * if anything was. One thread asks; any may read.
 */
final class EngineVersions {
  private static final Logger LOG = LoggerFactory.getLogger(EngineVersions.class);

  /** Pods that are asked at a time. */
  private static final int AT_ONCE = 32;

  /** The size of blocks of an engine that is asked for it next: its version is wanted at once. */
  private static final int UNASKED = -1;

  /** Who is asked. */
  enum Round {
    /** Those that have not been asked, or may be others by now. */
    NEW,
    /** Those that have not answered, too. */
    SILENT,
    /** All. */
    ALL
  }

  private final Cells cells;
  private final Pods pods;
  private final EngineClient client;
  private final PodKeys keys;
  private final ExecutorService background;
  private final Duration timeout;
  private volatile Map<String, Engine> byPod = Map.of();

  // Of the thread that asks.
  private Set<String> roster = Set.of();
  private boolean allAnswered;

  /**
   * What is known of an engine.
   *
   * @param identity as it told of itself, null when it has not answered
   * @param version null when nothing is known of it
   * @param blockSize tokens in one of its KV blocks, 0 where it has not said, {@link #UNASKED}
   * @param models what it tells of each of its models, by their names
   * @param names the names of its pod's models when it told
   * @param healthy whether its pod was when it was asked
   * @param losses how often its pod had been lost by then
   * @param described what its pod's description has of it
   */
  private record Engine(
      @Nullable EngineIdentity identity, @Nullable EngineVersion version, int blockSize,
      Map<String, LearntModel> models, Set<String> names, boolean healthy, int losses, Description described) {
    @Nullable EngineGroup group() {
      return version == null ? null : EngineGroup.of(version);
    }

    Engine answering(EngineIdentity now) {
      EngineVersion is = EngineVersion.of(now.kind().label(), now.version(), now.reasoningParser());
      return new Engine(now, described.inItsRole(is), UNASKED, models, names, healthy, losses, described);
    }

    Engine withDescription(int size, Map<String, LearntModel> told, Set<String> its) {
      return new Engine(identity, version, size, told, its, healthy, losses, described);
    }

    boolean hasOtherModels(WorkerSummary worker) {
      return isAnswered() && !names.equals(worker.models());
    }

    boolean isAnswered() {
      return identity != null && blockSize != UNASKED;
    }

    private Set<ApiPath> splitApis() {
      if (!(version instanceof SglangVersion sglang)) {
        return Set.of();
      }
      Set<ApiPath> split = EnumSet.noneOf(ApiPath.class);
      if (SglangRule.RESPONSES_SPLIT.holds(sglang)) {
        split.add(ApiPath.RESPONSES);
      }
      if (SglangRule.MESSAGES_SPLIT.holds(sglang)) {
        split.add(ApiPath.MESSAGES);
      }
      return Set.copyOf(split);
    }

    LearntEngine learnt() {
      EngineGroup group = group();
      EngineKind kind = identity == null ? described.kind() : identity.kind();
      return new LearntEngine(
          group == null ? null : group.name(), kind.sharesOnceComputed(), kind.reportsCacheUse(),
          kind.prefixesAdapters(), Math.max(0, blockSize), splitApis(), models);
    }
  }

  /**
   * What a pod's description has of its engine.
   *
   * @param engine what was learnt of it when the pod was added, such as {@code SGLang 0.5.23 (simulated)}; empty when
   *     nothing was
   * @param disaggregated whether it computes prompts for others, or answers to prompts that others have computed
   */
  private record Description(String engine, boolean disaggregated) {
    static final Description NONE = new Description("", false);

    static Description of(PodSpec pod) {
      PodSpec.Learnt learnt = pod.learnt();
      return new Description(
          learnt == null ? "" : learnt.engine(), pod.role() == Role.PREFILL || pod.role() == Role.DECODE);
    }

    EngineKind kind() {
      return Arrays.stream(EngineKind.values())
          .filter(kind -> engine.startsWith(kind.label()))
          .findAny()
          .orElse(EngineKind.UNKNOWN);
    }

    @Nullable EngineVersion version() {
      String[] words = engine.split(" ", -1);
      return engine.isEmpty()
          ? null
          : inItsRole(EngineVersion.of(words[0], words.length > 1 ? words[1] : null, null));
    }

    EngineVersion inItsRole(EngineVersion version) {
      return disaggregated ? version.asDisaggregated() : version;
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
  EngineVersions(
      Cells cells, Pods pods, HttpCalls calls, PodKeys keys, ExecutorService background, Duration timeout) {
    this.cells = cells;
    this.pods = pods;
    this.client = new EngineClient(calls, timeout);
    this.keys = keys;
    this.background = background;
    this.timeout = timeout;
  }

  /**
   * Asks pods, and forgets those that are gone. Waits for them, though not for long; returns whether anything may be
   * known that was not before. It costs next to nothing to look for new ones often: where the roster has not changed,
   * only those are looked at that have not answered.
   */
  @SuppressWarnings("ReferenceEquality") // the ids of the roster are the same set until it changes
  boolean refresh(Round round) throws InterruptedException {
    Set<String> ids = cells.workerIds();
    boolean sameRoster = ids == roster;
    if (round == Round.NEW && sameRoster && allAnswered) {
      return false;
    }
    roster = ids;
    Map<String, Engine> before = byPod;
    Map<String, Description> described = new HashMap<>();
    pods.all().forEach(pod -> described.put(pod.name(), Description.of(pod)));
    Map<String, Engine> now = new ConcurrentHashMap<>();
    Map<String, WorkerSummary> asked = new LinkedHashMap<>();
    for (WorkerSummary worker : cells.workers()) {
      Engine known = before.get(worker.pod());
      Description description = described.getOrDefault(worker.pod(), Description.NONE);
      if (known != null) {
        now.put(worker.pod(), known);
      }
      if (known == null || (isHealthy(worker) && isDue(known, worker, description, round))) {
        asked.putIfAbsent(worker.pod(), worker);
        now.put(worker.pod(), known(worker, known, description));
      }
    }
    byPod = Map.copyOf(now);
    if (!asked.isEmpty()) {
      inquire(asked.values(), now);
      byPod = Map.copyOf(now);
    }
    allAnswered = byPod.values().stream().allMatch(Engine::isAnswered);
    return round != Round.NEW || !sameRoster || !asked.isEmpty();
  }

  private void inquire(Collection<WorkerSummary> asked, Map<String, Engine> now) throws InterruptedException {
    Semaphore permits = new Semaphore(AT_ONCE);
    background.invokeAll(
        asked.stream()
            .map(worker -> (Callable<@Nullable Void>) () -> {
              permits.acquire();
              try {
                now.put(worker.pod(), answered(worker, Objects.requireNonNull(now.get(worker.pod()))));
              } finally {
                permits.release();
              }
              return null;
            })
            .toList(),
        2 * timeout.toMillis(), TimeUnit.MILLISECONDS);
  }

  private static boolean isDue(Engine known, WorkerSummary worker, Description description, Round round) {
    return round == Round.ALL
        || known.losses != worker.losses()
        || !known.described.equals(description)
        || (known.identity != null && !known.isAnswered())
        || known.hasOtherModels(worker)
        || (known.identity == null && (round == Round.SILENT || !known.healthy));
  }

  /**
   * What is known of a pod's engine before it answers: of one that is described anew, its description; of one that was
   * lost, what it was, until it has said that it is the same.
   */
  private static Engine known(WorkerSummary worker, @Nullable Engine before, Description description) {
    return before == null || !before.described.equals(description)
        ? new Engine(
            null, description.version(), 0, Map.of(), Set.of(), isHealthy(worker), worker.losses(), description)
        : new Engine(
            before.losses == worker.losses() ? before.identity : null, before.version, before.blockSize,
            before.models, before.names, isHealthy(worker), worker.losses(), description);
  }

  private Engine answered(WorkerSummary worker, Engine known) {
    try {
      EngineIdentity before = known.identity;
      if (before != null && (!known.isAnswered() || known.hasOtherModels(worker))) {
        return described(worker, known, before);
      }
      EngineIdentity now = client.identity(worker.url(), keys.of(worker.url()), before);
      return now.equals(before) ? known : known.answering(now);
    } catch (HttpCallException silent) {
      LOG.debug("pod {} did not tell its version: {}", worker.pod(), silent.getMessage());
      return known;
    } catch (InterruptedException late) {
      Thread.currentThread().interrupt();
      return known;
    }
  }

  /** An engine with its blocks and models, as far as it tells: its version is known all the same. */
  private Engine described(WorkerSummary worker, Engine known, EngineIdentity identity) throws InterruptedException {
    try {
      EngineDescription told =
          client.describe(EngineAddress.of(worker.url()), keys.of(worker.url()), identity);
      Integer size = told.cache().blockSize();
      return known.withDescription(size == null ? 0 : size, models(told), worker.models());
    } catch (HttpCallException silent) {
      LOG.debug("pod {} did not tell the size of its blocks: {}", worker.pod(), silent.getMessage());
      return known.isAnswered() ? known : known.withDescription(0, Map.of(), worker.models());
    }
  }

  private static Map<String, LearntModel> models(EngineDescription told) {
    Map<String, LearntModel> models = new HashMap<>();
    for (ServedModel model : told.models()) {
      Integer length = model.contextLength();
      models.put(model.name(), new LearntModel(model.root(), model.parent(), length == null ? 0 : length));
    }
    return Map.copyOf(models);
  }

  /** The versions of a model's healthy engines: that of most first, of each way to prepare prompts one. */
  List<EngineVersion> of(String model) {
    Map<String, Engine> known = byPod;
    Map<EngineVersion, Integer> workers = new LinkedHashMap<>();
    healthy(model).forEach(worker -> {
      Engine engine = known.get(worker.pod());
      if (engine != null && engine.version != null) {
        workers.merge(engine.version, 1, Integer::sum);
      }
    });
    Map<EngineGroup, Integer> count = new HashMap<>();
    Map<EngineGroup, EngineVersion> versions = new HashMap<>();
    workers.forEach((version, number) -> {
      EngineGroup group = EngineGroup.of(version);
      count.merge(group, number, Integer::sum);
      versions.putIfAbsent(group, version);
    });
    return count.keySet().stream()
        .sorted(Comparator.<EngineGroup>comparingInt(count::get).reversed().thenComparing(EngineGroup::name))
        .map(versions::get)
        .toList();
  }

  /** What is known of each pod's engine, by the pod's name. */
  Map<String, LearntEngine> learnt() {
    Map<String, LearntEngine> learnt = new HashMap<>();
    byPod.forEach((pod, engine) -> learnt.put(pod, engine.learnt()));
    return learnt;
  }

  /** A healthy pod of a model; null when there is none. */
  @Nullable URI pod(String model) {
    return healthy(model).map(WorkerSummary::url).findAny().orElse(null);
  }

  /** The same, one that prepares prompts as a version does if there is any. */
  @Nullable URI pod(String model, EngineVersion version) {
    Map<String, Engine> known = byPod;
    EngineGroup wanted = EngineGroup.of(version);
    Predicate<WorkerSummary> alike = worker -> {
      Engine engine = known.get(worker.pod());
      return engine != null && (version.equals(engine.version) || wanted.equals(engine.group()));
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
