package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EngineKind;

/** Whether engines keep prefixes. */
final class PrefixCachingCheck extends EngineCheck {
  PrefixCachingCheck() {
    super("prefix-caching", "Does every engine keep the prefixes of prompts for later ones?");
  }

  @Override
  void examine(EngineExam engine, EngineDescription told, FindingCollector found) {
    if (Boolean.FALSE.equals(told.cache().prefixCaching())) {
      found.error(
          engine.target(), "it keeps no prefixes",
          "Every prompt is computed whole, wherever the router sends it, and there are no cache events.",
          told.identity().kind() == EngineKind.SGLANG
              ? "Start the engine without --disable-radix-cache."
              : "Start the engine with --enable-prefix-caching, not with --no-enable-prefix-caching.");
    }
  }
}
