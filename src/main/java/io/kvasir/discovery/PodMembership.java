package io.kvasir.discovery;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.kubernetes.ObjectKey;
import io.kvasir.kubernetes.inference.InferencePool;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Why a Kubernetes pod is an engine: the label selector of the configuration matches it, or InferencePools do, each
 * with its ports. Not thread-safe.
 */
final class PodMembership {
  private final ObjectKey key;
  private final JsonNode object;
  /** By port, in ascending order. */
  private final Map<Integer, Set<String>> pools = new TreeMap<>();

  PodMembership(ObjectKey key, JsonNode object) {
    this.key = key;
    this.object = object;
  }

  KubernetesPod pod() {
    return new KubernetesPod(object);
  }

  void add(InferencePool pool) {
    for (int port : pool.targetPorts()) {
      pools.computeIfAbsent(port, _ -> new TreeSet<>()).add(pool.key().toString());
    }
  }

  /**
   * The places at which the pod serves: one for each port of its pools, or the one that it says itself when it is in no
   * pool. One of several has its port in its name.
   *
   * @param home namespace whose pods are called by their name alone
   */
  List<PodEndpoint> endpoints(String home) {
    String name = key.namespace().equals(home) ? key.name() : key.name() + "." + key.namespace();
    if (pools.isEmpty()) {
      return List.of(new PodEndpoint(key, name, 0, 0, Set.of()));
    }
    Set<Integer> active = pod().activePorts();
    List<PodEndpoint> endpoints = new ArrayList<>();
    int index = 0;
    for (Map.Entry<Integer, Set<String>> each : pools.entrySet()) {
      int port = each.getKey();
      if (active.isEmpty() || active.contains(port)) {
        String own = pools.size() == 1 ? name : name + ":" + port;
        endpoints.add(new PodEndpoint(key, own, port, index, each.getValue()));
      }
      index++;
    }
    return endpoints;
  }
}
