package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.doctor.exam.Examination;

/** Whether every engine answers. */
final class ReachableCheck extends Check {
  ReachableCheck() {
    super("reachable", "Does every engine answer, and take the key that the router shows it?");
  }

  @Override
  void examine(Examination examination, FindingCollector found) {
    for (EngineExam engine : examination.engines()) {
      String failure = engine.failure();
      if (failure == null) {
        continue;
      }
      boolean key = failure.endsWith("answered 401") || failure.endsWith("answered 403");
      found.error(
          engine.target(), failure, key
              ? "The engine refuses every request that the router sends."
              : "No request can be served there.",
          key
              ? "Set pods[].api-key, or pod-defaults.api-key, to the engine's --api-key; give the configuration by"
                  + " --config too, which alone has the keys."
              : "Start the engine, open its port to the router, or correct pods[].url; its --host must not be"
                  + " 127.0.0.1 where the router runs elsewhere.");
    }
  }
}
