package io.kvasir.app.node;

import io.kvasir.access.AccessControl;
import io.kvasir.access.ApiKey;
import io.kvasir.access.Caller;
import io.kvasir.access.KeyRing;
import io.kvasir.access.store.KeyChange;
import io.kvasir.app.config.AccessConfig;
import io.kvasir.app.config.ConfigException;
import io.kvasir.gateway.admin.KeysAdmin.KeySource;
import io.kvasir.gateway.admin.KeysAdmin.KnownKey;
import io.kvasir.telemetry.Problem;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Every key that a node knows: those of its configuration, of its file of keys, and of the administrators' changes.
 * Each change of them gives the {@link AccessControl} another ring. A key of a file is refused when either the file or
 * an administrator says so. Thread-safe.
 */
final class KeyCatalog {
  private final AccessConfig config;
  private final AccessControl control;

  /** What entries have been read as, so that a change reads one and not all. */
  private Map<String, ApiKey> readEntries = Map.of();
  private List<ApiKey> fileKeys = List.of();
  private @Nullable Map<String, KeyChange> changes;
  private volatile Snapshot snapshot = new Snapshot(Map.of(), Map.of(), List.of());

  /**
   * What is known at one moment.
   *
   * @param keys by id
   * @param changes what administrators have changed, by the key's id
   * @param problems keys that are not as somebody has written them
   */
  private record Snapshot(Map<String, KnownKey> keys, Map<String, KeyChange> changes, List<Problem> problems) {}

  /** A catalogue of the configuration's keys, which are accepted when the administrators' changes are known. */
  KeyCatalog(AccessConfig config, AccessControl control) {
    this.config = config;
    this.control = control;
  }

  /** Takes the keys of the file in place of those before. */
  synchronized void replaceFileKeys(List<ApiKey> keys) {
    fileKeys = List.copyOf(keys);
    publish();
  }

  /** Takes the administrators' changes, by the key's id, in place of those before. */
  synchronized void replaceChanges(Map<String, KeyChange> current) {
    changes = current;
    publish();
  }

  /** All keys by id, in the order of ids. */
  Map<String, KnownKey> keys() {
    return snapshot.keys();
  }

  /** The key of an id, null when there is none. */
  @Nullable KnownKey key(String id) {
    return snapshot.keys().get(id);
  }

  /** What administrators have changed of a key. */
  KeyChange change(String id) {
    KeyChange change = snapshot.changes().get(id);
    return change == null ? KeyChange.of(id) : change;
  }

  /** Whether administrators have changed any key. */
  boolean isChanged() {
    return !snapshot.changes().isEmpty();
  }

  /** Keys that are not as somebody has written them. */
  List<Problem> problems() {
    return snapshot.problems();
  }

  private void publish() {
    if (changes == null) {
      return;
    }
    Map<String, KnownKey> keys = new TreeMap<>();
    List<Problem> problems = new ArrayList<>();
    config.keys().configured().forEach(key -> keys.put(key.id(), new KnownKey(key, KeySource.CONFIGURATION)));
    for (ApiKey key : fileKeys) {
      if (keys.putIfAbsent(key.id(), new KnownKey(key, KeySource.FILE)) != null) {
        problems.add(Problem.warning(
            "the key '%s' is in kvasir.access.keys and in the file of keys: the file's is not accepted"
                .formatted(key.id()),
            "remove one of the two"));
      }
    }
    addChanges(changes, keys, problems);
    snapshot = new Snapshot(keys, changes, problems);
    if (!config.hasKeys() && changes.isEmpty()) {
      control.publishAnonymous(Caller.anonymous(!config.open() || config.openRoutingDetails()));
    } else {
      List<ApiKey> all = keys.values().stream().map(KnownKey::key).toList();
      control.publish(KeyRing.of(all, config.tenantLimits()));
    }
  }

  private void addChanges(Map<String, KeyChange> current, Map<String, KnownKey> keys, List<Problem> problems) {
    Map<String, ApiKey> read = new HashMap<>();
    for (KeyChange change : current.values()) {
      KnownKey written = keys.get(change.id());
      if (written != null) {
        if (!change.entry().isEmpty()) {
          problems.add(Problem.warning(
              "the key '%s' is in a file and was created by the admin API, too: the file's is accepted"
                  .formatted(change.id()),
              "remove one of the two"));
        }
        ApiKey key = written.key();
        boolean disabled = key.disabled() || (change.disabled() && !change.deleted());
        keys.put(change.id(), new KnownKey(key.withDisabled(disabled), written.source()));
      } else if (!change.entry().isEmpty()) {
        try {
          ApiKey key = readEntries.get(change.entry());
          key = key == null ? config.reader().readStored(change.entry()) : key;
          read.put(change.entry(), key);
          keys.put(change.id(), new KnownKey(key.withDisabled(key.disabled() || change.disabled()), KeySource.ADMIN));
        } catch (ConfigException unreadable) {
          problems.add(Problem.warning(
              "the key '%s' cannot be read by this node and is refused: %s"
                  .formatted(change.id(), unreadable.getMessage()),
              "give the node the version and the configuration of the one where the key was made, or make it again"));
        }
      }
    }
    readEntries = read;
  }
}
