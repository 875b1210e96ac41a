package io.kvasir.access.store;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import org.apache.pekko.cluster.ddata.ReplicatedData;

/**
 * Changes of several keys, as nodes replicate them to each other. Immutable.
 *
 * @param byId the changes by the key's id, in the order of ids: replicas compare what they serialise
 */
record KeyChanges(Map<String, KeyChange> byId) implements ReplicatedData {
  static final KeyChanges NONE = new KeyChanges(Map.of());

  /** Sorts. */
  @SuppressWarnings("NullAway") // what is missing in a message is null
  KeyChanges {
    byId = byId == null ? Map.of() : Collections.unmodifiableMap(new TreeMap<>(byId));
  }

  KeyChanges with(KeyChange change) {
    Map<String, KeyChange> merged = new TreeMap<>(byId);
    merged.merge(change.id(), change, KeyChange::merge);
    return new KeyChanges(merged);
  }

  @Override
  public KeyChanges merge(ReplicatedData other) {
    Map<String, KeyChange> merged = new TreeMap<>(byId);
    ((KeyChanges) other).byId.forEach((id, change) -> merged.merge(id, change, KeyChange::merge));
    return new KeyChanges(merged);
  }

  /** About how many bytes a message with all of them has. */
  long bytes() {
    long bytes = 0;
    for (KeyChange change : byId.values()) {
      bytes += 100L + 2L * change.id().length() + change.entry().length();
    }
    return bytes;
  }
}
