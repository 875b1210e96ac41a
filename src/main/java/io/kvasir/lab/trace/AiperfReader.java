package io.kvasir.lab.trace;

import java.util.List;

/**
 * AIPerf's conversations ({@code multi_turn}), a record each: {@code session_id} and {@code turns} with {@code text} or
 * {@code texts}, and where known {@code timestamp} or {@code delay} in milliseconds and {@code output_length}.
 *
 * <p>The file has no answers, which AIPerf takes from the engine and puts before the next turn: an answer counts as
 * {@value #ANSWER} tokens where its length is not there. A conversation without a timestamp begins a second after the
 * one before it. Prompts are measured as {@link TextBlocks} does.
 */
final class AiperfReader implements RecordReader {
  private static final int ANSWER = 200;

  private final int blockSize;
  private int conversations;

  AiperfReader(int blockSize) {
    this.blockSize = blockSize;
  }

  @Override
  public void read(TraceRecord record, List<TraceLine> lines) {
    double startMs = DialogueReader.START_GAP_MS * conversations++;
    String session = record.name("session_id", "conversation") + "#" + conversations;
    TextBlocks blocks = new TextBlocks(blockSize);
    boolean first = true;
    for (TraceRecord turn : record.records("turns")) {
      if (!turn.has("text") && !turn.has("texts")) {
        throw turn.fault("text", "a text, since prompts of images or sound have no tokens");
      }
      blocks.add(turn.name("role", "user"), turn.text("text") + turn.text("texts"));
      int prompt = blocks.tokens();
      int output = turn.has("output_length") ? turn.tokens("output_length") : ANSWER;
      blocks.addUnknown(output, lines.size());
      boolean timed = turn.has("timestamp");
      double delayMs = first || timed ? -1 : Math.max(0, turn.number("delay", 0));
      lines.add(
          TraceLine.turn(
              session, timed ? turn.number("timestamp", 0) : startMs, delayMs, prompt, output, blocks.ids(),
              prompt + output));
      first = false;
    }
  }
}
