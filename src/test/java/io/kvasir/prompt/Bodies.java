package io.kvasir.prompt;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** JSON with single quotes. */
final class Bodies {
  private static final ObjectMapper JSON = new ObjectMapper();

  private Bodies() {}

  static JsonNode json(String text) {
    return parse(text.replace('\'', '"'));
  }

  static JsonNode parse(String text) {
    try {
      return JSON.readTree(text);
    } catch (JsonProcessingException e) {
      throw new AssertionError(e);
    }
  }

  static ObjectNode object(String text) {
    return (ObjectNode) json(text);
  }
}
