package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.doctor.exam.ProbeExam;
import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EngineKind;

/** Whether engines report what they found in their caches. */
final class CachedTokensCheck extends EngineCheck {
  CachedTokensCheck() {
    super("cached-tokens", "Does the engine report in usage what it found in its cache?");
  }

  @Override
  void examine(EngineExam engine, EngineDescription told, FindingCollector found) {
    ProbeExam probe = engine.probe();
    if (probe != null && probe.failure() == null && probe.cachedTokens() == null) {
      found.warning(
          engine.target(), "its usage does not tell the tokens found in the cache",
          "The router cannot notice when its index of that cache is wrong, and hit rates show nothing.",
          told.identity().kind() == EngineKind.SGLANG
              ? "Start the engine with --enable-cache-report."
              : "Start the engine with --enable-prompt-tokens-details.");
    }
  }
}
