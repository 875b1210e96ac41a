package io.kvasir.lmcache;

import io.kvasir.lmcache.Instances.Instance;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The join of LMCache's instances to workers: by configuration, otherwise by equal names. Immutable.
 *
 * @param configured worker by instance id
 */
record WorkerMap(Map<String, String> configured) {
  /** Copies the map. */
  WorkerMap {
    configured = Map.copyOf(configured);
  }

  /** The id of the worker that an instance belongs to, which the fleet may not have. */
  String workerOf(String instance) {
    return configured.getOrDefault(instance, instance);
  }

  /** Key counts by worker; of two instances of one worker the one that holds more counts. */
  Map<String, Long> keys(Collection<Instance> instances) {
    Map<String, Long> keys = new HashMap<>();
    for (Instance instance : instances) {
      if (!instance.isStale()) {
        keys.merge(workerOf(instance.id()), instance.keys(), Math::max);
      }
    }
    return keys;
  }

  /**
   * Mismatches between LMCache's instances, the configuration and the fleet.
   *
   * @param unmapped instances that belong to no worker
   * @param duplicated workers with several instances, with those
   * @param shared instances that several engines report as, with the engines' addresses
   * @param unknownWorkers workers of the configuration that the fleet does not have
   * @param unknownInstances instances of the configuration that the source does not list
   * @param source of the instances: "controller" or "coordinator"
   */
  record Mismatches(
      List<String> unmapped,
      SequencedMap<String, List<String>> duplicated,
      SequencedMap<String, List<String>> shared,
      List<String> unknownWorkers,
      List<String> unknownInstances,
      String source) {
    static final Mismatches NONE = new Mismatches(List.of(), new TreeMap<>(), new TreeMap<>(), List.of(), List.of(),
        "");

    /** Each mismatch as a sentence with its remedy. */
    List<String> messages() {
      List<String> messages = new ArrayList<>();
      for (String instance : unmapped) {
        messages.add(
            "LMCache instance '%s' belongs to no worker: name its worker in kvasir.lmcache.workers"
                .formatted(instance));
      }
      duplicated.forEach(
          (worker, instances) ->
              messages.add(
                  "worker '%s' has the LMCache instances %s: only the one that holds most counts"
                      .formatted(worker, String.join(", ", instances))));
      shared.forEach(
          (instance, addresses) ->
              messages.add(
                  "LMCache instance '%s' reports from %s: give every engine an lmcache_instance_id of its own"
                      .formatted(instance, String.join(", ", addresses))));
      for (String worker : unknownWorkers) {
        messages.add(
            "kvasir.lmcache.workers names the worker '%s', which the fleet does not have".formatted(worker));
      }
      for (String instance : unknownInstances) {
        messages.add(
            "kvasir.lmcache.workers names the LMCache instance '%s', which the %s does not know"
                .formatted(instance, source));
      }
      return messages;
    }
  }

  /**
   * The mismatches of instances with the configuration and the fleet.
   *
   * @param fleet ids of all workers; while it is empty, workers are not checked
   * @param source of the instances: "controller" or "coordinator"
   */
  Mismatches mismatches(Collection<Instance> instances, Set<String> fleet, String source) {
    List<String> unmapped = new ArrayList<>();
    SequencedMap<String, SequencedSet<String>> byWorker = new TreeMap<>();
    configured.forEach((instance, worker) -> byWorker.computeIfAbsent(worker, _ -> new TreeSet<>()).add(instance));
    SequencedMap<String, List<String>> shared = new TreeMap<>();
    for (Instance instance : instances) {
      String worker = workerOf(instance.id());
      if (fleet.contains(worker)) {
        byWorker.computeIfAbsent(worker, _ -> new TreeSet<>()).add(instance.id());
      } else if (!fleet.isEmpty()) {
        unmapped.add(instance.id());
      }
      if (instance.addresses().size() > 1) {
        shared.put(instance.id(), instance.addresses());
      }
    }
    SequencedMap<String, List<String>> duplicated = new TreeMap<>();
    byWorker.forEach((worker, all) -> {
      if (all.size() > 1) {
        duplicated.put(worker, List.copyOf(all));
      }
    });
    Set<String> listed = instances.stream().map(Instance::id).collect(Collectors.toSet());
    // A source that has just been restarted lists no instance yet.
    List<String> unknownInstances =
        listed.isEmpty()
            ? List.of()
            : configured.keySet().stream().filter(instance -> !listed.contains(instance)).sorted().toList();
    List<String> unknownWorkers =
        fleet.isEmpty()
            ? List.of()
            : configured.values().stream().filter(worker -> !fleet.contains(worker)).distinct().sorted().toList();
    return new Mismatches(unmapped, duplicated, shared, unknownWorkers, unknownInstances, source);
  }
}
