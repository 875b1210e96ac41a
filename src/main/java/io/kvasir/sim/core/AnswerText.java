package io.kvasir.sim.core;

import io.kvasir.sim.text.PlannedAnswer;
import org.jspecify.annotations.Nullable;

/**
 * What may be shown of an answer as it grows: its text without what a stop string cuts off, and of the call of a tool
 * the name and the arguments. Used by the request's thread.
 */
final class AnswerText {
  private final GeneratedSequence generation;
  private final int heldBack;
  private int tokens;
  /** What is not shown yet; the characters before it count too. */
  private final StringBuilder pending = new StringBuilder();
  private int shown;

  AnswerText(GeneratedSequence generation) {
    this.generation = generation;
    this.heldBack = generation.stopConditions().heldBack();
  }

  /** Tokens whose text has been taken. */
  int tokens() {
    return tokens;
  }

  /**
   * The text that has been added up to a number of tokens, as far as it may be shown.
   *
   * @param ended whether these are all
   */
  String take(int upTo, boolean ended) {
    if (upTo == tokens + 1 && heldBack == 0 && pending.isEmpty() && !ended) {
      String one = generation.text(tokens++);
      shown += one.length();
      return one;
    }
    for (; tokens < upTo; tokens++) {
      pending.append(generation.text(tokens));
    }
    int show = ended ? Math.min(pending.length(), Math.max(0, generation.textEnd() - shown))
        : Math.max(0, pending.length() - heldBack);
    String taken = pending.substring(0, show);
    pending.delete(0, show);
    shown += show;
    return taken;
  }

  /** What characters of the answer, which end where all that was taken ends, are of a call; null for plain text. */
  ResponseFormat.@Nullable CallPart callPart(String taken) {
    PlannedAnswer planned = generation.planned();
    PlannedAnswer.CallSpan call = planned == null ? null : planned.call();
    if (call == null) {
      return null;
    }
    int begin = shown - taken.length();
    boolean begins = begin < call.announced() && shown >= call.announced();
    int from = Math.clamp(call.from(), begin, shown);
    int to = Math.clamp(call.to(), begin, shown);
    return new ResponseFormat.CallPart(begins ? call.name() : null, taken.substring(from - begin, to - begin));
  }

  /** The call in a whole answer; null when there is none or it was cut off. */
  static ResponseFormat.@Nullable Call call(GeneratedSequence generation, String whole) {
    PlannedAnswer planned = generation.planned();
    PlannedAnswer.CallSpan call = planned == null ? null : planned.call();
    return call == null || whole.length() < call.to() ? null
        : new ResponseFormat.Call(call.name(), whole.substring(call.from(), call.to()));
  }
}
