package io.kvasir.routing;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.TreeMap;

/**
 * A node's profiles while it runs. A decision takes {@link #current} once and keeps to it, so a reload never changes
 * one that is under way. Thread-safe; reading never waits.
 */
public final class LiveProfiles {
  private volatile Profiles current;

  /** Begins with these. */
  public LiveProfiles(Profiles first) {
    this.current = first;
  }

  /** The profiles as of now. */
  public Profiles current() {
    return current;
  }

  /**
   * Puts other profiles in the place of the current ones. One that is written as before stays the very object it was,
   * so that what its plugins remember outlives the reload.
   *
   * @return what is different from now on
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

  private static List<String> names(Map<String, Profile> of, Map<String, Profile> butNot) {
    return of.keySet().stream().filter(name -> !butNot.containsKey(name)).toList();
  }

  private static boolean changed(Map<String, Profile> before, Map.Entry<String, Profile> now) {
    Profile old = before.get(now.getKey());
    return old != null && old != now.getValue();
  }

  /**
   * What a reload changed.
   *
   * @param added names of the profiles that were not there before
   * @param removed of those that are not there any more
   * @param changed of those that are written differently
   * @param choice whether requests choose among them differently
   */
  public record Change(List<String> added, List<String> removed, List<String> changed, boolean choice) {
    /** Whether everything is as it was. */
    public boolean isNone() {
      return added.isEmpty() && removed.isEmpty() && changed.isEmpty() && !choice;
    }
  }
}
