package io.kvasir.execution.dispatch;

import io.kvasir.cell.Outcome;
import io.kvasir.execution.Call;
import io.kvasir.execution.TokenCounter;
import io.kvasir.execution.TokenCounter.CutStream;
import io.kvasir.execution.TokenCounter.TokenCount;
import io.kvasir.execution.stream.PartialAnswer;
import io.kvasir.http.Cancellation;
import org.jspecify.annotations.Nullable;

/**
 * What another worker is to go on from, which is known to be what was generated. Immutable.
 *
 * @param text the text that its prompt ends with
 * @param generated its tokens
 * @param prompt tokens of the whole prompt, {@link Outcome#UNKNOWN} when they are not known
 */
record ProvenRest(String text, int generated, int prompt) {
  /** Before any text: the request is made again. */
  private static final ProvenRest WHOLE = new ProvenRest("", 0, Outcome.UNKNOWN);

  /**
   * The rest of an answer; null where it is not known to go on from what was generated, as far as the client could
   * notice: by a limit that does not hold, by its usage, by a conversation that goes on from something else.
   *
   * @param call the call whose stream was cut
   * @param usageInjected whether only the router requested its usage
   */
  static @Nullable ProvenRest of(
      Call call,
      Continuation continuation,
      PartialAnswer answer,
      boolean usageInjected,
      TokenCounter tokens,
      Cancellation client) {
    if (!answer.hasText()) {
      return WHOLE;
    }
    // The stream expects the blanks behind it once more.
    String whole = answer.text();
    String text = whole.stripTrailing();
    int blanks = whole.length() - text.length();
    int reported = answer.isReported() ? answer.generated() : Outcome.UNKNOWN;
    String target = continuation.target(call.http().target());
    CutStream stream = new CutStream(call, target, continuation.body(text, 0), answer.pieces(), blanks);
    // The chat is the router's own: the first engine has to have reported the prompt that it would have had by it.
    boolean translated = !target.equals(call.http().target());
    ProvenRest rest = switch (tokens.count(stream, client)) {
      case TokenCount.Exact exact -> reported == Outcome.UNKNOWN || exact.text() <= reported
          ? new ProvenRest(text, exact.text(), exact.prompt())
          : null;
      case TokenCount.Different _ -> null;
      case TokenCount.Unknown _ when reported != Outcome.UNKNOWN && blanks == 0 && !continuation.mayHoldText() ->
          new ProvenRest(
              text, reported, answer.promptTokens() < 0 ? Outcome.UNKNOWN : answer.promptTokens() + reported);
      case TokenCount.Unknown _ -> continuation.countsTokens(usageInjected)
          ? null
          : new ProvenRest(text, answer.generated(), Outcome.UNKNOWN);
    };
    boolean provable = rest != null
        && (rest.prompt != Outcome.UNKNOWN || !continuation.chat() || text.isEmpty())
        && (!translated || rest.prompt - rest.generated == answer.promptTokens());
    return provable ? rest : null;
  }
}
