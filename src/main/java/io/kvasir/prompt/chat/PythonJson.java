package io.kvasir.prompt.chat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;

/**
 * JSON as Python's {@code json.loads} reads it: one value and nothing behind it, in which numbers may be {@code NaN}
 * and {@code Infinity}. Other than Python's it also reads {@code INF} with a sign.
 */
final class PythonJson {
  private static final JsonMapper READER =
      JsonMapper.builder()
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
          .build();

  private PythonJson() {}

  /** The value of a text; a missing node where it has none. */
  static JsonNode read(String text) throws JsonProcessingException {
    return READER.readTree(text);
  }
}
