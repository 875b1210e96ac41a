package io.kvasir.lab;

import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/**
 * One line of a recorded trace, whatever its schema.
 *
 * @param arrivalMs its time, milliseconds; 0 when it has none
 * @param input tokens of the prompt
 * @param output tokens of the answer
 * @param ids the trace's numbers of the prompt's blocks
 * @param blockSize tokens in a block when the line has it, 0 otherwise
 * @param turn its place in a conversation
 * @param tenant who sent it, empty where that is not known
 * @param delayMs milliseconds after the answer of the turn before it, -1 when it has a timestamp
 */
record TraceLine(
    double arrivalMs,
    int input,
    int output,
    long[] ids,
    int blockSize,
    Turn turn,
    String tenant,
    double delayMs) {
  private static final String NO_PARENT = "-1";

  /** Reads a line; faults name it by its number. */
  static TraceLine read(JsonNode line, int number) {
    JsonNode hashes = line.path("hash_ids");
    if (!hashes.isArray()) {
      throw new IllegalArgumentException("line " + number + " has no hash_ids");
    }
    long[] ids = new long[hashes.size()];
    for (int i = 0; i < ids.length; i++) {
      ids[i] = hashes.get(i).asLong();
    }
    String chat = text(line.path("chat_id"));
    String parent = text(line.path("parent_chat_id"));
    double timestamp = line.path("timestamp").asDouble(0);
    return new TraceLine(
        chat == null ? timestamp : timestamp * 1e3,
        positive(line, "input_length", number),
        positive(line, "output_length", number),
        ids,
        line.path("block_size").asInt(0),
        new Turn(chat, NO_PARENT.equals(parent) ? null : parent, text(line.path("session_id"))),
        line.path("tenant").asText(""),
        line.path("delay").asDouble(-1));
  }

  /**
   * The names that place a line in a conversation.
   *
   * @param chat the turn's own, null when turns have none
   * @param parentChat the turn's before it, null for a first turn
   * @param session the conversation's, null when it has none
   */
  record Turn(@Nullable String chat, @Nullable String parentChat, @Nullable String session) {
    /** Whether it names its conversation. */
    boolean named() {
      return session != null || chat != null;
    }

    /** The conversation's name, given by its first turn. */
    String sessionName() {
      return session != null ? session : "chat " + chat;
    }
  }

  /** The hashes of its full blocks. */
  long[] chain(int size) {
    long[] chain = new long[Math.min(ids.length, input / size)];
    for (int i = 0; i < chain.length; i++) {
      chain[i] = WorkloadTrace.hash(ids[i]);
    }
    return chain;
  }

  static int positive(JsonNode line, String field, int number) {
    JsonNode value = line.path(field);
    if (!value.isIntegralNumber() || value.asInt() < 0) {
      throw new IllegalArgumentException("line " + number + " has no " + field);
    }
    // An engine computes at least one token and answers with at least one.
    return Math.max(1, value.asInt());
  }

  private static @Nullable String text(JsonNode value) {
    return value.isMissingNode() || value.isNull() ? null : value.asText();
  }
}
