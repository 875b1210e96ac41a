package io.kvasir.kubernetes.inference;

import io.kvasir.kubernetes.ObjectKey;
import io.kvasir.pools.ModelRewrite;
import io.kvasir.pools.Objective;
import io.kvasir.pools.Pool;
import io.kvasir.pools.PoolSet;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The objects that are known, as of a moment. Immutable.
 *
 * @param complete whether the API has answered for each kind in each namespace: before that objects may be missing
 * @param unread namespaces whose pools the API has not let be read yet; an empty name means all namespaces
 */
record InferenceSnapshot(
    Map<ObjectKey, KnownObject<InferencePool>> pools,
    Map<ObjectKey, KnownObject<Objective>> objectives,
    Map<ObjectKey, KnownObject<ModelRewrite>> rewrites,
    boolean complete,
    Set<String> unread) {
  static final InferenceSnapshot EMPTY = new InferenceSnapshot(Map.of(), Map.of(), Map.of(), false, Set.of());

  /** The pools in force. */
  List<InferencePool> poolsInForce() {
    return inForce(pools);
  }

  /** The pools in force with what belongs to them, as the picker takes them. */
  PoolSet toPools() {
    List<Pool> all = new ArrayList<>();
    for (InferencePool pool : poolsInForce()) {
      String namespace = pool.key().namespace();
      InferencePool.PickerReference picker = pool.picker();
      Set<String> authorities = picker == null ? Set.of() : Set.of(picker.name() + "." + namespace);
      all.add(Pool.labelled(namespace, pool.key().name(), pool.targetPorts(), authorities));
    }
    List<ModelRewrite> oldestFirst =
        rewrites.values().stream()
            .sorted(Comparator.comparing(KnownObject::created))
            .map(KnownObject::inForce)
            .filter(Objects::nonNull)
            .toList();
    return new PoolSet(all, oldestFirst, inForce(objectives));
  }

  /** What tells all objects from others, and from later ones of their names. */
  Set<String> uids() {
    return Stream.of(pools, objectives, rewrites)
        .flatMap(known -> known.values().stream())
        .map(KnownObject::uid)
        .collect(Collectors.toSet());
  }

  /** What is wrong with an object that belongs to a pool: its own faults, or that there is no such pool. */
  List<String> faults(KnownObject<?> object) {
    if (!object.faults().isEmpty() || !complete) {
      return object.faults();
    }
    String namespace = ObjectKey.of(object.object()).namespace();
    ObjectKey pool = new ObjectKey(namespace, object.object().at("/spec/poolRef/name").asText());
    return pools.containsKey(pool)
        ? List.of()
        : List.of("spec.poolRef names " + pool + ", and there is no such InferencePool");
  }

  private static <T> List<T> inForce(Map<ObjectKey, KnownObject<T>> objects) {
    List<T> all = new ArrayList<>();
    for (KnownObject<T> object : objects.values()) {
      T value = object.inForce();
      if (value != null) {
        all.add(value);
      }
    }
    return all;
  }
}
