package io.kvasir.events;

import java.util.List;

/**
 * All that an engine held when it had published the messages before {@code resume}.
 *
 * @param resume number of the first message that is not in it
 * @param takenAt no earlier than the last message in it was published, and before any later one; microseconds since the
 *     epoch by the engine's clock, 0 when unknown
 * @param publisher who has sent it, {@link PublisherId#NONE} when it does not say
 * @param parts in order
 */
record EngineSnapshot(long resume, long takenAt, long publisher, List<Part> parts) {
  /** Copies the list. */
  EngineSnapshot {
    parts = List.copyOf(parts);
  }

  /**
   * The events of one message, to be applied after those of the parts before.
   *
   * @param bytes of the message
   */
  record Part(int rank, List<KvEvent> events, int bytes) {}
}
