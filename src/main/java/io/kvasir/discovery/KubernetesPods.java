package io.kvasir.discovery;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.Pods;
import io.kvasir.engines.EngineAddress;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The pod source of Kubernetes: declares the pods that a label selector or InferencePools match, each at the ports it
 * serves on. A pod whose annotations have become invalid stays as it was, also where another node has read it before.
 */
final class KubernetesPods implements AutoCloseable {
  /** Readiness tells of a new process at once; this is for what changes in a running one. */
  private static final Duration LEARN_INTERVAL = Duration.ofMinutes(5);

  private final KubernetesSettings settings;
  private final PodsReader reader;
  private final Pods roster;
  private final SourceState state;
  private final LearntPods learnt;
  private final PodWatches watches;
  /** The last valid reading of each endpoint, by its name. Guarded by this. */
  private final Map<String, Accepted> accepted = new HashMap<>();

  /** A valid reading, and the pod's address then: at another is another engine, though of the same name. */
  private record Accepted(PodSpec spec, String ip) {}

  /**
   * Starts listing and watching.
   *
   * @param source where pods are read
   */
  KubernetesPods(
      KubernetesSource source, PodsReader reader, PodLearner learner, Pods roster, SourceState state) {
    this.settings = source.settings();
    this.reader = reader;
    this.roster = roster;
    this.state = state;
    this.learnt = new LearntPods(learner, LEARN_INTERVAL, this::declare);
    this.watches = new PodWatches(source, this::declare, state::failed);
    watches.start();
  }

  @Override
  public void close() {
    watches.close();
    learnt.close();
  }

  /**
   * Declares all pods, as soon as the API has answered for all of them: those that are not declared are removed. Where
   * the API has refused, those that are known stay.
   */
  private synchronized void declare() {
    PodWatches.Selected selected = watches.selected();
    if (selected == null) {
      return;
    }
    Map<String, DiscoveredPod> before = new HashMap<>();
    roster.declaredBy(PodSource.KUBERNETES).forEach(pod -> before.put(pod.spec().name(), pod));
    Map<String, DiscoveredPod> found = new TreeMap<>();
    List<String> faults = new ArrayList<>(watches.failures());
    List<EngineAddress> asked = new ArrayList<>();
    for (PodMembership member : selected.members().values()) {
      KubernetesPod pod = member.pod();
      if (pod.isActive()) {
        for (PodEndpoint endpoint : member.endpoints(settings.namespace())) {
          List<String> endpointFaults = new ArrayList<>();
          DiscoveredPod read = read(pod, endpoint, asked, endpointFaults);
          if (read != null && endpointFaults.isEmpty()) {
            accepted.put(endpoint.name(), new Accepted(read.spec(), pod.ip()));
          }
          endpointFaults.forEach(fault -> faults.add("pod " + endpoint.name() + ": " + fault));
          PodSpec valid = valid(endpoint.name(), pod, before);
          if (valid != null) {
            found.put(endpoint.name(), new DiscoveredPod(valid, pod.isWithheld()));
          }
        }
      }
    }
    accepted.keySet().retainAll(found.keySet());
    before.forEach((name, pod) -> {
      if (selected.unread().mayHave(pod.spec())) {
        found.putIfAbsent(name, pod);
      }
    });
    learnt.retain(asked);
    faults.addAll(roster.declare(PodSource.KUBERNETES, List.copyOf(found.values())));
    state.accepted(found.size(), faults);
  }

  /**
   * What is valid of an endpoint: its last valid reading here, or by the node that read the pods before, which knew the
   * engine that has not answered here yet; null when there is none at the pod's address.
   */
  private @Nullable PodSpec valid(String endpoint, KubernetesPod pod, Map<String, DiscoveredPod> before) {
    Accepted here = accepted.get(endpoint);
    if (here != null && here.ip().equals(pod.ip())) {
      return here.spec();
    }
    DiscoveredPod there = before.get(endpoint);
    return there != null && pod.host().equals(there.spec().url().getHost()) ? there.spec() : null;
  }

  private @Nullable DiscoveredPod read(
      KubernetesPod pod, PodEndpoint endpoint, List<EngineAddress> asked, List<String> faults) {
    try {
      Config described = pod.toPodConfig(endpoint, settings.labels(), settings.pod());
      if (described.hasPath("models") || !described.hasPath("url")) {
        return reader.readOne(described, faults::add);
      }
      // While it starts or stops nothing is known, and nothing wrong.
      if (pod.isWithheld()) {
        return null;
      }
      EngineAddress address = new BarePod(URI.create(described.getString("url")), described).address();
      asked.add(address);
      LearntPod engine = learnt.of(address);
      if (engine == null) {
        learnt.failure(address).ifPresent(reason -> faults.add("names no models, and its engine neither: " + reason));
        return null;
      }
      DiscoveredPod read = reader.readOne(engine.complete(described), faults::add);
      return read == null ? null : new DiscoveredPod(read.spec().with(engine.learnt(described)), read.withheld());
    } catch (ConfigException | IllegalArgumentException malformed) {
      faults.add(String.valueOf(malformed.getMessage()));
      return null;
    } catch (StackOverflowError deep) {
      faults.add("the JSON of its annotation is nested too deeply");
      return null;
    }
  }
}
