package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.doctor.exam.ReplayExam;
import io.kvasir.doctor.exam.SnapshotExam;
import io.kvasir.doctor.exam.SourceExam;
import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EventPublishing;
import org.jspecify.annotations.Nullable;

/** Whether a router that starts now can know all that the engine's cache holds. */
final class SnapshotCheck extends EngineCheck {
  private static final String WHY = "A router that starts now knows a part of that cache only.";

  SnapshotCheck() {
    super("snapshot", "Can a router that starts now know all that the engine holds?");
  }

  @Override
  void examine(EngineExam engine, EngineDescription told, FindingCollector found) {
    for (SourceExam source : engine.sources()) {
      SnapshotExam snapshot = source.snapshot();
      ReplayExam replay = source.replay();
      if (!source.socket().isPublisher() || replay == null || !replay.socket().isReplay()) {
        continue; // other checks tell
      }
      if (snapshot == null) {
        Integer kept = bufferSteps(told);
        if (kept != null && replay.last() >= kept) {
          found.note(engine.target(),
              "it has published %d batches and its replay keeps %d of them, of rank %d".formatted(
                  replay.last() + 1, kept, source.rank()),
              WHY, "Raise buffer_steps in the engine's --kv-events-config; or set events.snapshot where the engine has"
                  + " snapshots; or run a second node, which keeps what the first knew.");
        }
      } else if (!snapshot.answered()) {
        found.warning(engine.target(), "a snapshot asked for at " + snapshot.endpoint() + " brought nothing", WHY,
            "The engine's log says why; until that is mended set events.snapshot = none of the pod.");
      } else if (!snapshot.known()) {
        found.warning(engine.target(), "it does not know the snapshots that are asked for at " + snapshot.endpoint(),
            WHY, "Set events.snapshot = none of the pod, or update the engine to one that has them.");
      }
    }
  }

  private static @Nullable Integer bufferSteps(EngineDescription told) {
    return told.events() instanceof EventPublishing.Zmq zmq ? zmq.bufferSteps() : null;
  }
}
