package io.kvasir.app.init;

import io.kvasir.engines.EngineDescription;

/**
 * An engine that has been asked what it is.
 *
 * @param name of its pod
 * @param description what it told
 * @param events where its cache events are
 * @param tokenizes whether it answers {@code /tokenize}
 */
record SurveyedEngine(String name, EngineDescription description, EventOrigin events, boolean tokenizes) {
  /** Its data-parallel ranks, 1 where it does not tell. */
  int ranks() {
    Integer told = description.cache().ranks();
    return told == null ? 1 : told;
  }
}
