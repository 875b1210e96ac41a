package io.kvasir.events;

import java.util.ArrayList;
import java.util.List;
import org.agrona.collections.LongHashSet;
import org.jspecify.annotations.Nullable;

/**
 * A snapshot of which message after message arrives. It is complete or it is refused: what contradicts itself, lacks
 * something, or is larger than an engine's cache can be, is not applied. One thread at a time.
 */
final class SnapshotAssembly {
  /** A block takes some 80 bytes: more than a million blocks. */
  static final long MAX_BYTES = 128L << 20;

  /** What a ROUTER's pipe holds by default; of more messages some may have been dropped without a sign. */
  static final int MAX_MESSAGES = 1000;

  private final EventDecoder decoder = new EventDecoder();
  private final List<EngineSnapshot.Part> parts = new ArrayList<>();
  private final LongHashSet keys = new LongHashSet();
  private long resume = KvBatch.UNSEQUENCED;
  private long takenAt;
  private long bytes;

  /** Whether nothing has arrived. */
  boolean isEmpty() {
    return parts.isEmpty();
  }

  /** Takes the next message; returns why the snapshot is refused, null while it is not. */
  @Nullable String add(long number, byte[] payload, EventMetrics.SourceMetrics metrics) {
    bytes += payload.length;
    if (parts.size() == MAX_MESSAGES) {
      return "it has more than " + MAX_MESSAGES + " messages, and some may be missing";
    }
    if (bytes > MAX_BYTES) {
      return "it is larger than " + (MAX_BYTES >> 20) + " MB";
    }
    if (number < 0 || (!parts.isEmpty() && number != resume)) {
      return "message %d of it goes on with number %d, and the first one with %d".formatted(
          parts.size(), number, resume);
    }
    DecodedMessage decoded = decoder.decode(number, payload);
    metrics.read(decoded);
    if (!decoded.intact()) {
      return "message " + parts.size() + " of it cannot be read: " + decoded.detail();
    }
    List<KvEvent> events = decoded.batch().events();
    String wrong = check(events, parts.isEmpty());
    if (wrong != null) {
      return wrong;
    }
    resume = number;
    takenAt = Math.max(takenAt, decoded.batch().publishedAt());
    parts.add(new EngineSnapshot.Part(decoded.batch().rank(), events, payload.length));
    return null;
  }

  private @Nullable String check(List<KvEvent> events, boolean first) {
    if (first && (events.isEmpty() || !(events.getFirst() instanceof KvEvent.Cleared))) {
      return "it does not begin with AllBlocksCleared";
    }
    for (int i = 0; i < events.size(); i++) {
      switch (events.get(i)) {
        case KvEvent.Stored stored -> {
          if (!stored.root() && !keys.contains(stored.parentKey())) {
            return "block " + Long.toUnsignedString(stored.parentKey()) + " is missing before what follows it";
          }
          for (long key : stored.keys()) {
            boolean _ = keys.add(key);
          }
        }
        case KvEvent.Removed removed -> {
          for (long key : removed.keys()) {
            if (!keys.contains(key)) {
              return "block " + Long.toUnsignedString(key) + " is removed and was not there";
            }
          }
        }
        case KvEvent.Cleared _ -> {
          if (!first || i > 0) {
            return "AllBlocksCleared is in the middle of it";
          }
        }
        case KvEvent.Gap _, KvEvent.GapClosed _, KvEvent.GapAbandoned _, KvEvent.Restarted _, KvEvent.Snapshot _,
            KvEvent.SnapshotFailed _, KvEvent.Connected _, KvEvent.Disconnected _ ->
            throw new IllegalStateException("an engine does not send " + events.get(i));
      }
    }
    return null;
  }

  /** The snapshot, after its end mark; at least one message has arrived. */
  EngineSnapshot complete() {
    return new EngineSnapshot(resume, takenAt, parts);
  }
}
