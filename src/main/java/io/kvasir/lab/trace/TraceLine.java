package io.kvasir.lab.trace;

import org.jspecify.annotations.Nullable;

/**
 * One request of a recorded trace, whatever its format.
 *
 * @param arrivalMs its time, milliseconds; 0 when it has none
 * @param input tokens of the prompt, at least 1
 * @param output tokens of the answer, at least 1
 * @param ids the trace's numbers of the leading blocks: equal numbers, equal texts up to there
 * @param known tokens that the numbers are of: the prompt's, and the answer's where the trace has it
 * @param blockSize tokens in a block when the line has it, 0 otherwise
 * @param turn its place in a conversation
 * @param tenant who sent it, empty where that is not known
 * @param delayMs milliseconds after the answer of the turn before it, -1 when it has a timestamp
 */
public record TraceLine(
    double arrivalMs,
    int input,
    int output,
    long[] ids,
    int known,
    int blockSize,
    Turn turn,
    String tenant,
    double delayMs) {
  /**
   * The names that place a request in a conversation.
   *
   * @param chat the turn's own, null when turns have none
   * @param parentChat the turn's before it, null for a first turn
   * @param session the conversation's, null when it has none
   */
  public record Turn(@Nullable String chat, @Nullable String parentChat, @Nullable String session) {
    /** A request of which no conversation is known. */
    static final Turn ALONE = new Turn(null, null, null);

    /** Whether it names its conversation. */
    public boolean named() {
      return session != null || chat != null;
    }

    /** The conversation's name, given by its first turn. */
    public String sessionName() {
      return session != null ? session : "chat " + chat;
    }
  }

  /** A turn of a session, {@code delayMs} after the answer before it; the first, where that is -1, at a time. */
  static TraceLine turn(
      String session, double arrivalMs, double delayMs, int input, int output, long[] ids, int known) {
    return new TraceLine(arrivalMs, input, output, ids, known, 0, new Turn(null, null, session), "", delayMs);
  }

  /** A request of which only time and lengths are known. */
  static TraceLine alone(double arrivalMs, int input, int output) {
    return new TraceLine(arrivalMs, input, output, new long[0], input, 0, Turn.ALONE, "", -1);
  }
}
