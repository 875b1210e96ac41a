package io.kvasir.execution.stream;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Why an answer's choices ended, in the engine's words: {@code stop}, {@code length}, {@code tool_calls}, Anthropic's
 * {@code end_turn} …; of a response {@code completed}, or why it is incomplete. One thread adds, any may read.
 */
final class FinishReasons implements ChoiceListener {
  /** A client may ask for a hundred choices. */
  private static final int MOST = 8;

  private static final List<String> UNFINISHED = List.of("queued", "in_progress");

  /** Immutable: read by whoever ends the answer. */
  private volatile List<String> reasons = List.of();

  @Override
  public void finished(byte[] text, int length) {
    add(new String(text, 0, length, StandardCharsets.UTF_8));
  }

  /** Notes the status of a response, which says less than a reason. */
  void status(byte[] text, int length) {
    String status = new String(text, 0, length, StandardCharsets.UTF_8);
    if (reasons.isEmpty() && !UNFINISHED.contains(status)) {
      add(status);
    }
  }

  private void add(String reason) {
    if (reasons.size() < MOST) {
      List<String> more = new ArrayList<>(reasons);
      more.add(reason);
      reasons = List.copyOf(more);
    }
  }

  /** The first {@value #MOST}, in the order in which they came. */
  List<String> list() {
    return reasons;
  }
}
