package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.doctor.exam.EventsSeen;
import io.kvasir.engines.EngineDescription;

/** Whether the clocks of engines go like ours. */
final class ClockCheck extends EngineCheck {
  private static final long TOLERATED_MILLIS = 5_000;

  ClockCheck() {
    super("clock", "Is the engine's clock within five seconds of the one here?");
  }

  @Override
  void examine(EngineExam engine, EngineDescription told, FindingCollector found) {
    for (EventsSeen seen : engine.seen()) {
      Long ahead = seen.clockAheadMillis();
      if (ahead != null && Math.abs(ahead) > TOLERATED_MILLIS) {
        found.warning(
            engine.target(), "its clock is " + Math.abs(ahead) / 1000 + " s " + (ahead > 0 ? "ahead" : "behind"),
            "How late its events are is measured wrong, and templates that print the date may differ from ours.",
            "Synchronise the clocks of both machines, such as by chrony.");
        return;
      }
    }
  }
}
