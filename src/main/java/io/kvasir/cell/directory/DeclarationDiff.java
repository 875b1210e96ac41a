package io.kvasir.cell.directory;

import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.PodSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * What has to change so that the pods of a source are those that it declares.
 *
 * @param put entries that are new, or differ
 * @param removed names of pods that the source has no longer
 * @param refused why a pod cannot be taken in, in plain words
 */
record DeclarationDiff(List<PodEntry> put, Set<String> removed, List<String> refused) {
  static DeclarationDiff of(PodSource source, List<DiscoveredPod> pods, Map<String, PodEntry> now) {
    List<PodEntry> put = new ArrayList<>();
    List<String> refused = new ArrayList<>();
    Set<String> removed = new TreeSet<>();
    now.forEach((name, entry) -> {
      if (entry.source() == source) {
        removed.add(name);
      }
    });
    for (DiscoveredPod pod : pods) {
      String name = pod.spec().name();
      PodEntry known = now.get(name);
      if (known != null && known.source() != source) {
        refused.add("a pod named '" + name + "' exists, from elsewhere; choose another name or remove it first");
        continue;
      }
      removed.remove(name);
      PodEntry entry =
          known == null
              ? new PodEntry(pod.spec(), false, source, pod.withheld(), null)
              : new PodEntry(pod.spec(), known.drained(), source, pod.withheld(), known.placement());
      if (!entry.equals(known)) {
        put.add(entry);
      }
    }
    return new DeclarationDiff(put, removed, refused);
  }

  boolean changesNothing() {
    return put.isEmpty() && removed.isEmpty();
  }
}
