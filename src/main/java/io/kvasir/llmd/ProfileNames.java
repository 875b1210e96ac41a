package io.kvasir.llmd;

import io.kvasir.llmd.TranslatedPart.Verdict;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** Names of profiles: llm-d's where Kvasir allows them and has no profile of that name itself. */
final class ProfileNames {
  private static final int MAX_LENGTH = 40;

  private final Set<String> taken;
  private final TranslatedParts findings;
  private final Map<String, String> names = new HashMap<>();

  ProfileNames(Set<String> shipped, TranslatedParts findings) {
    this.taken = new HashSet<>(shipped);
    this.findings = findings;
  }

  /** The name of llm-d's profile of this name. */
  String of(ProfileEntry profile) {
    String known = names.get(profile.name());
    if (known != null) {
      return known;
    }
    String name = free(profile.name());
    names.put(profile.name(), name);
    if (!name.equals(profile.name())) {
      findings.add(
          Verdict.SIMILAR, "profile " + profile.name(), profile.line(), "is called " + name + " here");
    }
    return name;
  }

  /** A name that no profile has, like the one that is wanted. */
  String free(String wanted) {
    String plain = wanted.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9-]", "-").replaceFirst("^-+", "");
    String name = cut(plain.isEmpty() ? "llm-d" : plain);
    for (int i = 1; !taken.add(name); i++) {
      name = cut("llm-d-" + plain + (i == 1 ? "" : "-" + i));
    }
    return name;
  }

  private static String cut(String name) {
    return name.length() <= MAX_LENGTH ? name : name.substring(0, MAX_LENGTH);
  }
}
