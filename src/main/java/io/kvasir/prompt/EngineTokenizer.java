package io.kvasir.prompt;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.prompt.chat.EngineVersion;
import java.io.IOException;
import java.io.Serial;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A client of a model's engines: of their {@code POST /tokenize}, and of their versions. Thread-safe; called on threads
 * that may block.
 */
@FunctionalInterface
public interface EngineTokenizer {
  /** Thrown when the engine answered that it does not tokenise this prompt: others may be tokenised all the same. */
  final class RefusedException extends IOException {
    @Serial private static final long serialVersionUID = 1L;

    /** The message says who answered and how, and nothing of the prompt. */
    public RefusedException(String message) {
      super(message);
    }
  }

  /**
   * The token ids of the engine's answer to {@code jsonBody}. Implementations enforce a deadline; the caller has none.
   *
   * @return ids as the 32 bits of unsigned numbers
   * @throws RefusedException when the engine answers that it does not tokenise this prompt
   * @throws IOException when the engine fails or its answer is late; the message has nothing of the prompt
   */
  int[] tokenize(String jsonBody) throws IOException;

  /** The same by an engine of a version, where there are engines of several. */
  default int[] tokenize(String jsonBody, EngineVersion engine) throws IOException {
    return tokenize(jsonBody);
  }

  /**
   * The versions of the engines, on which depends how they prepare conversations: that of most engines first; empty
   * while none is known.
   */
  default List<EngineVersion> versions() {
    return List.of();
  }

  /** An engine that tells its version, which may be null at first, and tokenises nothing. */
  static EngineTokenizer ofVersion(Supplier<@Nullable EngineVersion> version) {
    return new EngineTokenizer() {
      @Override
      public int[] tokenize(String jsonBody) throws IOException {
        throw new IOException("not asked here");
      }

      @Override
      public List<EngineVersion> versions() {
        EngineVersion told = version.get();
        return told == null ? List.of() : List.of(told);
      }
    };
  }

  /** The token ids of an answer of vLLM's or SGLang's {@code /tokenize}. */
  static int[] ids(JsonNode answer) throws IOException {
    JsonNode tokens = answer.path("tokens");
    if (!tokens.isArray()) {
      throw new IOException("the answer has no list \"tokens\"");
    }
    int[] ids = new int[tokens.size()];
    for (int i = 0; i < ids.length; i++) {
      if (!isTokenId(tokens.get(i))) {
        throw new IOException("\"tokens\"[" + i + "] is not a token id");
      }
      ids[i] = (int) tokens.get(i).longValue();
    }
    return ids;
  }

  /** Whether a number is a token id: a whole one of 0 to 2^32 - 1, as engines' events have them. */
  static boolean isTokenId(JsonNode number) {
    return number.isIntegralNumber() && number.canConvertToLong() && number.longValue() >>> Integer.SIZE == 0;
  }
}
