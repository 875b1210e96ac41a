package io.kvasir.routing;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.TreeMap;

/**
 * The profiles in service on a node, replaced by reloads. A decision reads {@link #current} once, so a reload never
 * changes a decision in progress. Thread-safe; reading never waits.
 */
public final class LiveProfiles {
  private volatile Profiles current;

  /** Profiles as configured at start-up. */
  public LiveProfiles(Profiles first) {
    this.current = first;
  }

  /** The profiles as of now. */
  public Profiles current() {
    return current;
  }

  /**
   * Replaces the current profiles. A profile whose source has not changed stays the same object, so that the state of
   * its plugins survives the reload.
   *
   * @return the difference
   */
  public synchronized Change replace(Profiles next) {
    Profiles before = current;
    SequencedMap<String, Profile> kept = new TreeMap<>();
    next.byName().forEach((name, profile) -> {
      Profile old = before.byName().get(name);
      kept.put(name, old != null && old.hasSameSource(profile) ? old : profile);
    });
    Change change = new Change(
        names(kept, before.byName()),
        names(before.byName(), kept),
        kept.entrySet().stream().filter(entry -> changed(before.byName(), entry)).map(Map.Entry::getKey).toList(),
        !before.choice().equals(next.choice()));
    current = new Profiles(Collections.unmodifiableSequencedMap(kept), next.choice());
    return change;
  }

  private static List<String> names(Map<String, Profile> all, Map<String, Profile> excluded) {
    return all.keySet().stream().filter(name -> !excluded.containsKey(name)).toList();
  }

  private static boolean changed(Map<String, Profile> before, Map.Entry<String, Profile> now) {
    Profile old = before.get(now.getKey());
    return old != null && old != now.getValue();
  }

  /**
   * The difference that a reload makes.
   *
   * @param added names of new profiles
   * @param removed names of removed profiles
   * @param changed names of profiles with another source
   * @param choice whether the choice among profiles changed
   */
  public record Change(List<String> added, List<String> removed, List<String> changed, boolean choice) {
    /** Whether nothing changed. */
    public boolean isNone() {
      return added.isEmpty() && removed.isEmpty() && changed.isEmpty() && !choice;
    }
  }
}
