package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.doctor.exam.ReplayExam;
import io.kvasir.doctor.exam.SourceExam;
import io.kvasir.engines.EngineDescription;
import java.time.Duration;

/** Whether what was missed can be had again, and from long enough ago. */
final class ReplayCheck extends EngineCheck {
  private static final String WHY =
      "After a lost message, or a restart of the router, what the engine's cache held before stays unknown.";
  private static final Duration ENOUGH = Duration.ofMinutes(1);

  ReplayCheck() {
    super("replay", "Can missed events be had again, of at least the last minute?");
  }

  @Override
  void examine(EngineExam engine, EngineDescription told, FindingCollector found) {
    for (SourceExam source : engine.sources()) {
      if (!source.socket().isPublisher()) {
        continue;
      }
      ReplayExam replay = source.replay();
      if (replay == null) {
        found.warning(engine.target(), "the router knows no replay for its events", WHY,
            "Start the engine with \"replay_endpoint\":\"tcp://*:5657\" in --kv-events-config, and set events.replay of"
                + " the pod.");
        return;
      }
      String where = replay.endpoint() + " of rank " + source.rank();
      if (!replay.socket().isReplay()) {
        found.error(engine.target(), "no replay is to be had at " + where, WHY,
            "Start the engine with \"replay_endpoint\":\"tcp://*:5657\" in --kv-events-config, or correct"
                + " events.replay; it has to be as many ports from endpoint as there are ranks.");
      } else if (!replay.answered()) {
        found.error(engine.target(), "a replay asked for at " + where + " brought nothing", WHY,
            "Is that the engine's replay_endpoint? Correct events.replay of the pod.");
      } else if (isShort(replay)) {
        found.warning(engine.target(),
            "its replay keeps %d batches at %s%s".formatted(replay.kept(), where,
                replay.covered() == null ? "" : ", of the last " + replay.covered().toMillis() + " ms"),
            "A connection lost for longer costs the router all it knows of that cache.",
            "Raise buffer_steps in the engine's --kv-events-config, which is 10000 unless set.");
      }
    }
  }

  /** Whether fewer batches are kept than were asked for, though there have been more, and they are of a short time. */
  private static boolean isShort(ReplayExam replay) {
    return replay.dropped() && replay.kept() < ReplayExam.BATCHES
        && (replay.covered() == null || replay.covered().compareTo(ENOUGH) < 0);
  }
}
