package io.kvasir.execution;

import io.kvasir.http.Cancellation;
import java.util.List;

/**
 * Counts what has been generated of a stream that was cut, by the model's own tokenizer, and checks that another engine
 * goes on from the same tokens. Thread-safe; may wait for an engine.
 */
@FunctionalInterface
public interface TokenCounter {
  /** A counter that knows no model. */
  TokenCounter NONE = (_, _) -> new TokenCount.Unknown();

  /** What a counter finds. */
  sealed interface TokenCount {
    /**
     * The prompt of the request for the rest is the client's prompt and behind it the tokens of the text.
     *
     * @param text tokens of the text that the request for the rest has
     * @param prompt tokens of the prompt of the request for the rest
     */
    record Exact(int text, int prompt) implements TokenCount {}

    /** The model's tokenizer or template is not known, or the prompt has parts that are not counted. */
    record Unknown() implements TokenCount {}

    /** The engine would go on from other tokens than were generated. */
    record Different() implements TokenCount {}
  }

  /**
   * A stream that was cut, and the request for its rest.
   *
   * @param begun the call whose stream was cut
   * @param target the path of the request for the rest
   * @param rest its body
   * @param pieces the text that the client has: of each event its own, in their order
   * @param blanks characters at the end of the text that the request for the rest does not have
   */
  record CutStream(Call begun, String target, byte[] rest, List<String> pieces, int blanks) {}

  /**
   * The tokens of a stream that was cut.
   *
   * @param client ends the count when it is cancelled; what is found then is of no use
   */
  TokenCount count(CutStream stream, Cancellation client);
}
