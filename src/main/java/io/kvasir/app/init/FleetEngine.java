package io.kvasir.app.init;

import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EngineTokens;
import io.kvasir.engines.LoadOrigin;
import io.kvasir.engines.SurveyedEngine;

/**
 * An engine of a fleet, with all that its configuration says.
 *
 * @param surveyed what it is
 * @param load where its load is read from
 * @param tokens what it answers to {@code /tokenize}
 */
record FleetEngine(SurveyedEngine surveyed, LoadOrigin load, EngineTokens tokens) {
  /** The name of its pod. */
  String name() {
    return surveyed.name();
  }

  /** What it told. */
  EngineDescription description() {
    return surveyed.description();
  }

  /** The same engine under another name. */
  FleetEngine named(String other) {
    return new FleetEngine(surveyed.named(other), load, tokens);
  }
}
