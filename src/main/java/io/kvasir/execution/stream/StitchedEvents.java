package io.kvasir.execution.stream;

import java.io.IOException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The events of several workers as those of one, as an API has them. It notes in a {@link PartialAnswer} what passes.
 * One thread at a time.
 */
sealed interface StitchedEvents permits ChatEvents, MessageEvents, ResponseEvents {
  /** A worker's stream begins, which {@code tap} reads. */
  default void begin(AnswerTap tap) {}

  /**
   * What the client gets for an event of the current worker, {@code bytes[from, to)}: null for the event as it is,
   * {@link WholeEvents.Editor#NOTHING} for none.
   *
   * @param tap has read it
   * @throws DivergedStreamException when the worker does not go on from what the client has
   */
  byte @Nullable [] edit(byte[] bytes, int from, int to, AnswerTap tap) throws IOException;

  /** The current worker's stream was cut, and another is to go on with {@code rest}. */
  void nextWorker(RestOfStream rest);

  /**
   * What the client is to get of a worker's failure, should nobody make it good.
   *
   * @param begun what it is to get of the events before this one, empty when it is the first
   */
  default byte[] failure(byte[] begun, byte[] bytes, int from, int to) throws IOException {
    byte[] all = Arrays.copyOf(begun, begun.length + to - from);
    System.arraycopy(bytes, from, all, begun.length, to - from);
    return all;
  }

  /** The events that the client has been given of those that are numbered from 0; 0 where they are not. */
  default int numbered() {
    return 0;
  }

  /**
   * The end of an answer of which nothing is left to be generated, and whose terminator has not come.
   *
   * @param withUsage whether the client requested usage
   */
  byte[] end(boolean withUsage) throws IOException;
}
