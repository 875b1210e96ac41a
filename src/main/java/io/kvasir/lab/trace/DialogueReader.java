package io.kvasir.lab.trace;

import java.util.List;
import java.util.Set;

/**
 * Whole conversations, a record each: of vLLM's {@code benchmark_serving_multi_turn} ({@code id}, {@code messages} with
 * {@code role} and {@code content}) and ShareGPT's ({@code conversations} with {@code from} and {@code value}, or the
 * former two), from which SGLang's multi-turn benchmarks are made.
 *
 * <p>Each answer makes a turn, whose prompt is all that comes before it. As in those benchmarks a turn follows the
 * answer before it at once, an answer at the beginning is left out, and so is a question at the end that nobody
 * answered. Conversations have no times: one begins a second after the other. Lengths are measured as {@link
 * TextBlocks} does.
 */
final class DialogueReader implements RecordReader {
  /** Between the beginnings of two conversations. */
  static final double START_GAP_MS = 1_000;

  private static final Set<String> ANSWERERS = Set.of("assistant", "gpt", "chatgpt", "bing", "bard", "model");

  private final int blockSize;
  private final String messages;
  private int conversations;

  /** A reader of records whose messages are in a field of this name. */
  DialogueReader(int blockSize, String messages) {
    this.blockSize = blockSize;
    this.messages = messages;
  }

  @Override
  public void read(TraceRecord record, List<TraceLine> lines) {
    double startMs = START_GAP_MS * conversations++;
    // Some files have several parts of a conversation under one id, each of which begins anew.
    String session = record.name("id", "conversation") + "#" + conversations;
    TextBlocks blocks = new TextBlocks(blockSize);
    boolean question = false;
    boolean first = true;
    for (TraceRecord message : record.records(messages)) {
      String author = message.name("from", message.name("role", ""));
      if (author.isEmpty()) {
        throw message.fault(messages.equals("messages") ? "role" : "from", "who wrote it");
      }
      String text = message.text(message.has("value") ? "value" : "content");
      if (!ANSWERERS.contains(author)) {
        blocks.add(author, text);
        question = true;
      } else if (question) {
        int prompt = blocks.tokens();
        blocks.add(author, text);
        int output = Math.max(1, blocks.tokens() - prompt);
        lines.add(TraceLine.turn(session, startMs, first ? -1 : 0, prompt, output, blocks.ids(), prompt + output));
        first = false;
      }
    }
  }
}
