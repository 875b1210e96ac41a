package io.kvasir.discovery;

import io.kvasir.cell.PodSpec;
import io.kvasir.cell.Pods;
import io.kvasir.engines.EngineAddress;
import io.kvasir.telemetry.Problem;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The pods of this node's configuration that have little more than a URL: each is announced as soon as its engine has
 * told what it is. Thread-safe.
 */
final class ConfiguredPods implements AutoCloseable {
  private final List<BarePod> pods;
  private final PodsReader reader;
  private final Pods roster;
  private final LearntPods learnt;
  private final Map<URI, String> faults = new ConcurrentHashMap<>();

  /** Asks the engines of these pods, until all have answered. */
  ConfiguredPods(List<BarePod> pods, PodsReader reader, PodLearner learner, Pods roster) {
    this.pods = pods;
    this.reader = reader;
    this.roster = roster;
    this.learnt = new LearntPods(learner, Duration.ofMinutes(2), this::announce);
    pods.forEach(pod -> learnt.of(pod.address()));
  }

  /** Engines that have not told what they are. */
  List<Problem> problems() {
    return new TreeMap<>(faults).entrySet().stream()
        .map(fault -> Problem.warning(
            "the pod at " + fault.getKey() + " has no workers yet: " + fault.getValue(),
            "see that the engine runs and is reached; or describe the pod in kvasir.pods, with its models at least"))
        .toList();
  }

  @Override
  public void close() {
    learnt.close();
  }

  private synchronized void announce() {
    List<EngineAddress> silent = new ArrayList<>();
    for (BarePod pod : pods) {
      LearntPod engine = learnt.known(pod.address());
      if (engine != null) {
        StringBuilder fault = new StringBuilder();
        PodSpec completed = pod.completed(engine, reader, fault::append);
        if (completed == null) {
          // Started otherwise, it may tell something that goes together.
          faults.put(pod.url(), fault.toString());
          silent.add(pod.address());
        } else {
          faults.remove(pod.url());
          roster.announce(completed);
        }
      } else {
        learnt.failure(pod.address()).ifPresent(reason -> faults.put(pod.url(), reason));
        silent.add(pod.address());
      }
    }
    // Those that are announced are watched with all others.
    learnt.retain(silent);
  }
}
