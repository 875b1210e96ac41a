package io.kvasir.events;

import java.util.ArrayList;
import java.util.List;
import org.apache.pekko.NotUsed;
import org.apache.pekko.stream.javadsl.Source;

/**
 * Several sources of one worker as one. Each has to tell everything. The facts come as often as there are sources,
 * so batches lose their numbers, which makes the index take them as sets: a block is there when any source said so
 * last, copies are not counted. Sources run apart, and the last to speak of a block may be behind; but each is in
 * order and each comes to its end, so once all of them have, the last word on every block is the engine's.
 *
 * <p>Doubt is shared: a gap is open while it is on any of them, and what is lost on one is lost. The worker is
 * connected while one of them is. A restart clears what all have told, and those that are behind tell it again.
 */
public final class MergedEvents implements EventSource {
  private final List<EventSource> sources;

  private record Tagged(int source, KvBatch batch) {}

  /** The sources' facts together; at least two. */
  public MergedEvents(List<EventSource> sources) {
    if (sources.size() < 2) {
      throw new IllegalArgumentException("sources: two at least, not " + sources.size());
    }
    this.sources = List.copyOf(sources);
  }

  @Override
  public Source<KvBatch, NotUsed> batches() {
    Source<Tagged, NotUsed> all = tagged(0);
    for (int i = 1; i < sources.size(); i++) {
      all = all.merge(tagged(i));
    }
    return all.statefulMapConcat(
        () -> {
          SourceStates doubts = new SourceStates(sources.size());
          return tagged -> doubts.merge(tagged.source(), tagged.batch());
        });
  }

  private Source<Tagged, NotUsed> tagged(int source) {
    return sources.get(source).batches().map(batch -> new Tagged(source, batch));
  }

  /** What each source is unsure of. One per stream. */
  private static final class SourceStates {
    private final boolean[] gap;
    private final boolean[] lost;
    private final boolean[] connected;

    SourceStates(int sources) {
      gap = new boolean[sources];
      lost = new boolean[sources];
      connected = new boolean[sources];
    }

    /** What is to be said after a source has said this. */
    Iterable<KvBatch> merge(int source, KvBatch batch) {
      List<KvEvent> told = new ArrayList<>(batch.events().size());
      for (KvEvent event : batch.events()) {
        switch (event) {
          case KvEvent.Stored _, KvEvent.Removed _ -> told.add(event);
          case KvEvent.Cleared _ -> {
            lost[source] = false;
            told.add(event);
            reapply(told);
          }
          case KvEvent.Restarted _ -> {
            lost[source] = false;
            gap[source] = false;
            told.add(event);
            reapply(told);
          }
          case KvEvent.Gap _ -> {
            if (!any(gap)) {
              told.add(event);
            }
            gap[source] = true;
          }
          case KvEvent.GapClosed _ -> {
            gap[source] = false;
            if (!any(gap)) {
              told.add(event);
            }
          }
          case KvEvent.GapAbandoned _ -> {
            gap[source] = false;
            lost[source] = true;
            told.add(event);
            reapply(told);
          }
          case KvEvent.Connected _ -> {
            if (!any(connected)) {
              told.add(event);
            }
            connected[source] = true;
          }
          case KvEvent.Disconnected _ -> {
            connected[source] = false;
            if (!any(connected)) {
              told.add(event);
            }
          }
        }
      }
      return told.isEmpty()
          ? List.of()
          : List.of(new KvBatch(KvBatch.UNSEQUENCED, batch.publishedAt(), batch.rank(), List.copyOf(told)));
    }

    /** What was said made all doubts go; those of the other sources are still there. */
    private void reapply(List<KvEvent> told) {
      if (any(lost) && !(told.getLast() instanceof KvEvent.GapAbandoned)) {
        told.add(new KvEvent.GapAbandoned(0, 0));
      }
      if (any(gap)) {
        told.add(new KvEvent.Gap(0));
      }
    }

    private static boolean any(boolean[] flags) {
      for (boolean flag : flags) {
        if (flag) {
          return true;
        }
      }
      return false;
    }
  }
}
