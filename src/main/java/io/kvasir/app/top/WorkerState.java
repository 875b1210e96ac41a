package io.kvasir.app.top;

import com.fasterxml.jackson.databind.JsonNode;

/** What a worker is good for at the moment. */
enum WorkerState {
  SERVING,
  /** It serves, but its index is not believed to be what it holds. */
  SUSPECT,
  DRAINING,
  DRAINED,
  DOWN;

  /** The state of a worker of {@code /admin/workers}. */
  static WorkerState of(JsonNode worker) {
    if (!worker.path("health").asText().equals("healthy")) {
      return DOWN;
    }
    if (worker.path("drained").asBoolean()) {
      return DRAINED;
    }
    if (worker.path("draining").asBoolean()) {
      return DRAINING;
    }
    return worker.path("suspect").asBoolean() ? SUSPECT : SERVING;
  }
}
