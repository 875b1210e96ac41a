package io.kvasir.events;

import java.util.List;

/**
 * The events of one message, in the order they happened.
 *
 * @param sequence the message's number in the engine's stream, or {@link #UNSEQUENCED}
 * @param publishedAt when the engine sent it, microseconds since the epoch by its clock; 0 when unknown
 * @param rank data-parallel rank the engine gave, or {@link #UNKNOWN_RANK}
 * @param events in order
 */
public record KvBatch(long sequence, long publishedAt, int rank, List<KvEvent> events) {
  /** The sequence of messages without number, and of the stream's own events (gaps, restarts). */
  public static final long UNSEQUENCED = -1;

  /** Header of a NATS message or an HTTP request with the engine's own number of a message. */
  public static final String SEQUENCE_HEADER = "Kvasir-Sequence";

  /** The message names no rank. */
  public static final int UNKNOWN_RANK = -1;

  /** A batch with one of the stream's own events. */
  public static KvBatch ofStream(KvEvent event) {
    return new KvBatch(UNSEQUENCED, 0, UNKNOWN_RANK, List.of(event));
  }
}
