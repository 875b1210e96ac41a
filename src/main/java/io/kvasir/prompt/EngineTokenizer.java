package io.kvasir.prompt;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;

/** An engine's {@code POST /tokenize}. Thread-safe; called on threads that may block. */
@FunctionalInterface
public interface EngineTokenizer {
  /**
   * The token ids that the engine answers {@code jsonBody} with. An answer that is late is a failure: the caller has
   * no deadline of its own.
   */
  int[] tokenize(String jsonBody) throws IOException;

  /** The ids in an answer of vLLM's or SGLang's {@code /tokenize}. */
  static int[] ids(JsonNode answer) throws IOException {
    JsonNode tokens = answer.path("tokens");
    if (!tokens.isArray()) {
      throw new IOException("the answer has no list \"tokens\"");
    }
    int[] ids = new int[tokens.size()];
    for (int i = 0; i < ids.length; i++) {
      if (!tokens.get(i).canConvertToInt()) {
        throw new IOException("\"tokens\"[" + i + "] is not a token id");
      }
      ids[i] = tokens.get(i).intValue();
    }
    return ids;
  }
}
