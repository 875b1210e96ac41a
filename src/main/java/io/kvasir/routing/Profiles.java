package io.kvasir.routing;

import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/**
 * A node's profiles and who is routed by which, as they stand between two reloads. Immutable.
 *
 * @param byName the compiled profiles, in alphabetical order
 * @param choice which of them decides about a request; it names none but those
 */
public record Profiles(SequencedMap<String, Profile> byName, ProfileChoice choice) {
  /** Checks that there is a standard profile. */
  public Profiles {
    if (!byName.containsKey(choice.standard())) {
      throw new IllegalArgumentException("there is no profile \"" + choice.standard() + "\" to be the standard");
    }
  }

  /** The profile of that name, null when there is none. */
  public @Nullable Profile named(String name) {
    return byName.get(name);
  }
}
