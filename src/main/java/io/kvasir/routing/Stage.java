package io.kvasir.routing;

import java.util.Locale;

/** The five stages of a decision, in the order they run. */
public enum Stage {
  /** Learns what must be known of the request before any candidate is looked at. */
  PREPARE("preparer"),
  /** Removes candidates. */
  FILTER("filter"),
  /** Gives every candidate a number. */
  SCORE("scorer"),
  /** Chooses, ranked. */
  PICK("picker"),
  /** Carries the plan out. */
  EXECUTE("executor");

  private final String noun;

  Stage(String noun) {
    this.noun = noun;
  }

  /** The stage's key in a profile. */
  public String key() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** What a plugin of this stage is called. */
  public String noun() {
    return noun;
  }
}
