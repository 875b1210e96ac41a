package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.doctor.exam.ProbeExam;
import io.kvasir.engines.EngineDescription;

/** Whether the events of an engine tell salts, by which tenants' caches are kept apart. */
final class SaltCheck extends EngineCheck {
  SaltCheck() {
    super("salt", "Do the engine's events tell the cache_salt of a request?");
  }

  @Override
  void examine(EngineExam engine, EngineDescription told, FindingCollector found) {
    ProbeExam probe = engine.probe();
    if (probe == null || probe.events() == null) {
      return;
    }
    boolean sameBlocks = engine.seen().getFirst().blockSizes().contains(probe.blockSize());
    if (sameBlocks && probe.events().published() == probe.blocks() && probe.events().promised() == 0) {
      found.warning(
          engine.target(), "its events do not tell the cache_salt of a request",
          "Blocks of salted requests are not found again, and are taken for those of requests without a salt.",
          "Update the engine (vLLM 0.17, SGLang of August 2026), or send it no salts: keep tenants with cache isolation"
              + " away from it.");
    }
  }
}
