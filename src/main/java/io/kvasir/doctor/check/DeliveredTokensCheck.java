package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.doctor.exam.ProbeExam;
import io.kvasir.engines.EngineDescription;

/** Whether an engine finds in its cache what its events promised. */
final class DeliveredTokensCheck extends EngineCheck {
  DeliveredTokensCheck() {
    super("promise", "Does a second request find in the cache what the events of the first promised?");
  }

  @Override
  void examine(EngineExam engine, EngineDescription told, FindingCollector found) {
    ProbeExam probe = engine.probe();
    if (probe == null || Boolean.FALSE.equals(told.cache().prefixCaching())) {
      return;
    }
    if (probe.failure() != null) {
      found.warning(engine.target(), "a request of " + (probe.blocks() * probe.blockSize() + 1)
              + " tokens for " + probe.model() + " was not answered: " + probe.failure(),
          "What is promised of its cache could not be compared with what it delivers.",
          "Send it one by hand: curl " + told.url() + "/v1/completions.");
      return;
    }
    Integer delivered = probe.cachedTokens();
    if (delivered == null) {
      return;
    }
    int possible = probe.blocks() * probe.blockSize();
    int promised = probe.events() == null ? possible : probe.events().published() * probe.blockSize();
    // That events are missing, or in blocks of another size, is told by other checks. A block less is what an engine
    // finds that drafts with EAGLE or MTP, which routers learn.
    if (promised == possible && delivered < promised && delivered != promised - probe.blockSize()) {
      found.error(engine.target(), "of %d tokens promised %d were found in its cache".formatted(promised, delivered),
          "The router sends requests there for blocks that are not there.",
          "Is it full, or one of several engines behind this address? Give each engine an address of its own"
              + " in pods[].url.");
    }
  }
}
