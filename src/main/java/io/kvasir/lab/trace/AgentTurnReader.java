package io.kvasir.lab.trace;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * LMCache's agents (Hugging Face, lmcache-agentic-traces) as JSON lines: one for each turn, with its {@code
 * session_id}, the whole conversation so far in {@code input} (messages as OpenAI's API has them, with calls of tools),
 * the tokens of the answer in {@code output_length}, and in {@code pre_gap} the seconds between the answer before and
 * this turn. AIPerf's lines of the same traces call these {@code messages} and {@code delay}, in milliseconds.
 *
 * <p>A session begins 12 s after the one before it, as with {@link WekaReader}. Prompts are measured as {@link
 * TextBlocks} does. What a turn's answer was is not used: the next turn has it in its prompt, perhaps written in
 * another way.
 */
final class AgentTurnReader implements RecordReader {
  private final int blockSize;
  private final Map<String, Double> starts = new HashMap<>();

  AgentTurnReader(int blockSize) {
    this.blockSize = blockSize;
  }

  @Override
  public void read(TraceRecord record, List<TraceLine> lines) {
    String session = record.name("session_id", "");
    if (session.isEmpty()) {
      throw record.fault("session_id", "the session's name");
    }
    TextBlocks blocks = new TextBlocks(blockSize);
    for (TraceRecord message : record.records(record.has("messages") ? "messages" : "input")) {
      blocks.add(message.name("role", "user"), message.text("content") + message.text("tool_calls"));
    }
    boolean first = !starts.containsKey(session);
    double startMs = starts.computeIfAbsent(session, _ -> starts.size() * WekaReader.START_GAP_MS);
    double delayMs = record.number("delay", record.number("pre_gap", 0) * 1e3);
    lines.add(
        TraceLine.turn(
            session, startMs, first ? -1 : Math.max(0, delayMs), blocks.tokens(), record.tokens("output_length"),
            blocks.ids(), blocks.tokens()));
  }
}
