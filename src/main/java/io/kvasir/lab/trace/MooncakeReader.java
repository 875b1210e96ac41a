package io.kvasir.lab.trace;

import java.util.List;

/** The lines of Mooncake and of Qwen-Bailian, and AIPerf's of the former's kind. */
final class MooncakeReader implements RecordReader {
  private static final String NO_PARENT = "-1";

  private final boolean bailian;

  MooncakeReader(boolean bailian) {
    this.bailian = bailian;
  }

  @Override
  public void read(TraceRecord record, List<TraceLine> lines) {
    double timestamp = record.number("timestamp", 0);
    String parent = record.name("parent_chat_id", NO_PARENT);
    if (bailian && !record.has("chat_id")) {
      throw record.fault("chat_id", "the turn's number");
    }
    int input = record.tokens("input_length");
    lines.add(
        new TraceLine(
            bailian ? timestamp * 1e3 : timestamp,
            input,
            record.tokens("output_length"),
            record.ids("hash_ids"),
            input,
            (int) record.number("block_size", 0),
            new TraceLine.Turn(
                bailian ? record.name("chat_id", "") : null,
                NO_PARENT.equals(parent) ? null : parent,
                record.has("session_id") ? record.name("session_id", "") : null),
            record.name("tenant", ""),
            record.number("delay", -1)));
  }
}
