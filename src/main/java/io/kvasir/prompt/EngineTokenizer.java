package io.kvasir.prompt;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;

/** A client of an engine's {@code POST /tokenize}. Thread-safe; called on threads that may block. */
@FunctionalInterface
public interface EngineTokenizer {
  /**
   * The token ids of the engine's answer to {@code jsonBody}. Implementations enforce a deadline; the caller has none.
   *
   * @throws IOException when the engine fails or its answer is late
   */
  int[] tokenize(String jsonBody) throws IOException;

  /** The token ids of an answer of vLLM's or SGLang's {@code /tokenize}. */
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
