package io.kvasir.events;

import java.util.ArrayList;
import java.util.List;
import org.apache.pekko.NotUsed;
import org.apache.pekko.stream.javadsl.Source;

/**
 * Several sources of one worker merged into one. Each has to carry all events. Every event arrives once per source, so
 * batches lose their numbers, and the index applies them as sets: a block is held when the latest event of any source
 * stored it; copies are not counted. Sources are not synchronised, and one of them may lag; but each is in order, so
 * once all have delivered everything, the last event of every block is the engine's last.
 *
 * <p>Uncertainty is shared: a gap is open while it is open in any source, and a message lost by one is lost. The worker
 * is connected while any source is. A restart clears the events of all sources; those that lag deliver them again.
 */
public final class MergedEvents implements EventSource {
  private final List<EventSource> sources;

  private record Tagged(int source, KvBatch batch) {}

  /** The merge of at least two sources. */
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
          SourceStates states = new SourceStates(sources.size());
          return tagged -> states.merge(tagged.source(), tagged.batch());
        });
  }

  private Source<Tagged, NotUsed> tagged(int source) {
    return sources.get(source).batches().map(batch -> new Tagged(source, batch));
  }

  /** The gaps, losses and connections of each source. One per stream. */
  private static final class SourceStates {
    private final boolean[] gap;
    private final boolean[] lost;
    private final boolean[] connected;

    SourceStates(int sources) {
      gap = new boolean[sources];
      lost = new boolean[sources];
      connected = new boolean[sources];
    }

    /** The batches to deliver for a batch of one source. */
    Iterable<KvBatch> merge(int source, KvBatch batch) {
      List<KvEvent> merged = new ArrayList<>(batch.events().size());
      for (KvEvent event : batch.events()) {
        switch (event) {
          case KvEvent.Stored _, KvEvent.Removed _ -> merged.add(event);
          case KvEvent.Cleared _, KvEvent.Snapshot _ -> {
            lost[source] = false;
            merged.add(event);
            reapply(merged);
          }
          case KvEvent.Restarted _ -> {
            lost[source] = false;
            gap[source] = false;
            merged.add(event);
            reapply(merged);
          }
          case KvEvent.Gap _ -> {
            if (!any(gap)) {
              merged.add(event);
            }
            gap[source] = true;
          }
          case KvEvent.GapClosed _ -> {
            gap[source] = false;
            if (!any(gap)) {
              merged.add(event);
            }
          }
          case KvEvent.GapAbandoned _ -> {
            gap[source] = false;
            lost[source] = true;
            merged.add(event);
            reapply(merged);
          }
          case KvEvent.SnapshotFailed _ -> merged.add(event);
          case KvEvent.Connected _ -> {
            if (!any(connected)) {
              merged.add(event);
            }
            connected[source] = true;
          }
          case KvEvent.Disconnected _ -> {
            connected[source] = false;
            if (!any(connected)) {
              merged.add(event);
            }
          }
        }
      }
      return merged.isEmpty()
          ? List.of()
          : List.of(new KvBatch(KvBatch.UNSEQUENCED, batch.publishedAt(), batch.rank(), List.copyOf(merged)));
    }

    /** Adds the gaps and losses of the other sources again, after an event that ended all of them. */
    private void reapply(List<KvEvent> merged) {
      if (any(lost) && !(merged.getLast() instanceof KvEvent.GapAbandoned)) {
        merged.add(new KvEvent.GapAbandoned(0, 0));
      }
      if (any(gap)) {
        merged.add(new KvEvent.Gap(0));
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
