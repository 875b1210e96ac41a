package io.kvasir.routing;

import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/**
 * A node's profiles and the rules by which requests choose among them, between two reloads. Immutable.
 *
 * @param byName the compiled profiles, in alphabetical order
 * @param choice the rules, which name only these profiles
 */
public record Profiles(SequencedMap<String, Profile> byName, ProfileChoice choice) {
  /** Checks that the standard profile exists. */
  public Profiles {
    if (!byName.containsKey(choice.standard())) {
      throw new IllegalArgumentException("there is no profile \"" + choice.standard() + "\" to be the standard");
    }
  }

  /** The profile with that name, null when there is none. */
  public @Nullable Profile named(String name) {
    return byName.get(name);
  }
}
