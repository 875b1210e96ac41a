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

  /** Whether it is the state of a publisher that is named, all in one message, rather than a replay's messages. */
  private final boolean state;

  private final long publisher;
  private long resume;
  private long takenAt;
  private long bytes;

  /** One that comes as messages of a replay ({@link SnapshotFormat#VLLM_50134}). */
  SnapshotAssembly() {
    this(false, PublisherId.NONE, KvBatch.UNSEQUENCED);
  }

  private SnapshotAssembly(boolean state, long publisher, long resume) {
    this.state = state;
    this.publisher = publisher;
    this.resume = resume;
  }

  /** One that comes as parts of one message ({@link SnapshotFormat#VLLM_57789}), of a publisher that names itself. */
  static SnapshotAssembly ofState(long resume, byte[] publisher) {
    return new SnapshotAssembly(true, PublisherId.of(publisher), resume);
  }

  /** Why it is refused before any of it has arrived, null if it is not. */
  @Nullable String refusal() {
    return state && (resume < 0 || publisher == PublisherId.NONE)
        ? "it goes on with number " + resume + " of a publisher that does not name itself"
        : null;
  }

  /** Whether nothing has arrived. */
  boolean isEmpty() {
    return parts.isEmpty();
  }

  /** Takes the next message; returns why the snapshot is refused, null while it is not. */
  @Nullable String add(long number, byte[] payload, EventMetrics.SourceMetrics metrics) {
    bytes += payload.length;
    if (!state && parts.size() == MAX_MESSAGES) {
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
    if (!state && first && (events.isEmpty() || !(events.getFirst() instanceof KvEvent.Cleared))) {
      return "it does not begin with AllBlocksCleared";
    }
    for (int i = 0; i < events.size(); i++) {
      switch (events.get(i)) {
        case KvEvent.Stored stored -> {
          if (!stored.root() && !keys.contains(stored.parentKey())) {
            return "block " + Long.toUnsignedString(stored.parentKey()) + " is missing before what follows it";
          }
          if (state && stored.tokens().length == 0 && !containsAll(stored.keys())) {
            return "a block is copied that was not there";
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
          if (state || !first || i > 0) {
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

  private boolean containsAll(long[] some) {
    for (long key : some) {
      if (!keys.contains(key)) {
        return false;
      }
    }
    return true;
  }

  /** The snapshot, when all of it has arrived: of one without an end of its own at least one message. */
  EngineSnapshot complete() {
    return new EngineSnapshot(resume, takenAt, publisher, parts);
  }
}
