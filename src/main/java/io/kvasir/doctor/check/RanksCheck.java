package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.engines.EngineDescription;

/** Whether the router knows all data-parallel ranks. */
final class RanksCheck extends EngineCheck {
  RanksCheck() {
    super("ranks", "Has every engine as many data-parallel ranks as the router has workers for it?");
  }

  @Override
  void examine(EngineExam engine, EngineDescription told, FindingCollector found) {
    Integer theirs = told.cache().ranks();
    if (theirs != null && theirs != engine.target().ranks()) {
      found.error(
          engine.target(),
          "it has " + theirs + " data-parallel ranks, the router takes it for " + engine.target().ranks(),
          "Each rank has a cache of its own: the events of some are missed, and requests go to ranks by chance.",
          "Set pods[].ranks = " + theirs + " as its --data-parallel-size (SGLang: --dp-size).");
    }
  }
}
