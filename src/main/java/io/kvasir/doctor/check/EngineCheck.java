package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.doctor.exam.Examination;
import io.kvasir.engines.EngineDescription;

/** A check of one engine at a time, of those that answered. */
abstract class EngineCheck extends Check {
  EngineCheck(String name, String question) {
    super(name, question);
  }

  @Override
  final void examine(Examination examination, FindingCollector found) {
    for (EngineExam engine : examination.engines()) {
      EngineDescription told = engine.description();
      if (told != null) {
        examine(engine, told, found);
      }
    }
  }

  abstract void examine(EngineExam engine, EngineDescription told, FindingCollector found);
}
