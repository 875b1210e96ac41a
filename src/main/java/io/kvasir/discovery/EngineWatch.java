package io.kvasir.discovery;

import com.typesafe.config.ConfigFactory;
import io.kvasir.cell.Cells;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.Pods;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Notices that engines are not what they were when their pods were learnt: another version behind the same address,
 * adapters loaded or unloaded, blocks of another size. They are asked again when their health has come back and at a
 * slow interval; a pod that is another then has its description replaced. For pods of the admin API and of
 * configurations: those of other sources are learnt where they are found. Owns its thread; run by one node.
 */
final class EngineWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(EngineWatch.class);
  private static final Duration CHECK_INTERVAL = Duration.ofSeconds(1);
  /** At this interval 256 engines are asked less than one a second, each for the few pages that it has. */
  static final Duration ASK_INTERVAL = Duration.ofMinutes(5);

  /** In place of the losses of a worker that was ill when it was first seen. */
  private static final int NEVER_WELL = -1;

  private final PodsReader reader;
  private final Pods roster;
  private final Cells cells;
  private final LearntPods learnt;
  private final Counter changes;
  /** How often each worker had been lost when it was well last. */
  private final Map<String, Integer> losses = new HashMap<>();
  private final Map<String, Watched> watched = new HashMap<>();
  private final Map<String, Compared> compared = new HashMap<>();
  private final Thread thread;

  /** A pod and its description, which is read once. */
  private record Watched(PodSpec pod, PodSpec.Learnt learnt, BarePod bare) {
    static Watched of(PodSpec pod, PodSpec.Learnt learnt) {
      return new Watched(pod, learnt, new BarePod(pod.url(), ConfigFactory.parseString(learnt.described())));
    }
  }

  /** A pod and what its engine told, which go together or have been seen not to. */
  private record Compared(PodSpec pod, LearntPod engine) {}

  /**
   * Starts watching.
   *
   * @param askInterval time between two questions to an engine that stays well, some more or less
   */
  EngineWatch(PodsReader reader, PodLearner learner, Pods roster, Cells cells, Duration askInterval,
      Counter changes) {
    this.reader = reader;
    this.roster = roster;
    this.cells = cells;
    this.changes = changes;
    this.learnt = new LearntPods(learner, askInterval, () -> {});
    this.thread = Thread.ofVirtual().name("kvasir-engine-watch").start(this::run);
  }

  /** The counter of changes; once per registry. */
  static Counter changes(Metrics metrics) {
    return Counter.builder()
        .name("kvasir_discovery_engine_changes_total")
        .help("Learnt pods whose engine was found to be another than it was: version, models, blocks, events or role")
        .register(metrics.registry());
  }

  @Override
  public void close() {
    thread.interrupt();
    learnt.close();
  }

  private void run() {
    try {
      while (true) {
        Thread.sleep(CHECK_INTERVAL);
        try {
          check();
        } catch (RuntimeException busy) {
          // The directory does not answer in time, as when the node is leaving: the next check replaces it.
          LOG.warn("engines could not be compared with what is known of them: {}", busy.getMessage());
        }
      }
    } catch (InterruptedException closed) {
      LOG.debug("the watch of engines ends");
    }
  }

  private void check() {
    List<PodSpec> pods = new ArrayList<>(roster.of(PodSource.ADMIN));
    pods.addAll(roster.of(PodSource.CONFIG));
    List<Watched> learntPods = watched(pods);
    learnt.retain(learntPods.stream().map(pod -> pod.bare().address()).toList());
    Set<String> back = podsThatCameBack();
    for (Watched pod : learntPods) {
      String name = pod.pod().name();
      LearntPod engine = learnt.laterOf(pod.bare().address());
      if (back.contains(name)) {
        learnt.refresh(pod.bare().address());
      }
      if (engine != null) {
        // Comparing reads a pod: once for each that is new.
        Compared now = new Compared(pod.pod(), engine);
        if (!now.equals(compared.get(name))) {
          compare(pod, engine);
          compared.put(name, now);
        }
      }
    }
    compared.keySet().retainAll(watched.keySet());
  }

  /** Those of the pods that were learnt. */
  private List<Watched> watched(List<PodSpec> pods) {
    Set<String> names = new HashSet<>();
    for (PodSpec pod : pods) {
      PodSpec.Learnt own = pod.learnt();
      if (own != null) {
        names.add(pod.name());
        Watched known = watched.get(pod.name());
        if (known == null || !known.pod().equals(pod)) {
          logRemarks(pod, own, known == null ? List.of() : known.learnt().remarks());
          watched.put(pod.name(), Watched.of(pod, own));
        }
      }
    }
    watched.keySet().retainAll(names);
    return List.copyOf(watched.values());
  }

  /** Says what an engine does not tell, or could do better, where that was not so before. */
  private static void logRemarks(PodSpec pod, PodSpec.Learnt learnt, List<String> before) {
    for (String remark : learnt.remarks()) {
      if (!before.contains(remark)) {
        LOG.info("pod {}, {}: {}", pod.name(), learnt.engine(), remark);
      }
    }
  }

  /** The pods with a worker that is well and was lost, were it for a moment between two looks or before the first. */
  private Set<String> podsThatCameBack() {
    Set<String> back = new HashSet<>();
    Set<String> known = new HashSet<>();
    for (WorkerSummary worker : cells.workers()) {
      known.add(worker.id());
      if (worker.health() == Health.HEALTHY) {
        Integer before = losses.put(worker.id(), worker.losses());
        if (before != null && before != worker.losses()) {
          back.add(worker.pod());
        }
      } else if (worker.health() == Health.UNHEALTHY) {
        // Whoever learnt it did not see it ill: when it is well, it may be another.
        losses.putIfAbsent(worker.id(), NEVER_WELL);
      }
    }
    losses.keySet().retainAll(known);
    return back;
  }

  private void compare(Watched known, LearntPod engine) {
    PodSpec pod = known.pod();
    PodSpec.Learnt before = known.learnt();
    List<String> faults = new ArrayList<>();
    PodSpec now = known.bare().completed(engine, reader, faults::add);
    if (now != null && !engine.announcesEvents() && now.events().isEmpty()
        && engine.engine().toString().equals(before.engine())) {
      // That nobody was found at the default endpoint this time proves nothing of a stream that is read.
      now = now.withEvents(pod.events()).with(before);
    }
    if (now == null) {
      LOG.warn("the engine of pod {} has changed, and cannot be described so: {}", pod.name(), faults);
    } else if (!now.equals(pod) && roster.replace(pod, now)) {
      String difference = pod.changesTo(now);
      if (!difference.isEmpty()) {
        changes.inc();
        LOG.info("the engine of pod {} has changed: {}", pod.name(), difference);
      }
    }
  }
}
