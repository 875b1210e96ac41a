package io.kvasir.routing;

import java.util.Locale;

/** The five stages of a decision, in the order they run. */
public enum Stage {
  /** Fills slots with facts of the request, before candidates are read. */
  PREPARE("preparer"),
  /** Removes candidates. */
  FILTER("filter"),
  /** Scores candidates. */
  SCORE("scorer"),
  /** Ranks candidates by score. */
  PICK("picker"),
  /** Sets the policy by which plans are carried out. */
  EXECUTE("executor");

  private final String noun;

  Stage(String noun) {
    this.noun = noun;
  }

  /** The stage's key in a profile. */
  public String key() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** The noun for a plugin of this stage. */
  public String noun() {
    return noun;
  }
}
