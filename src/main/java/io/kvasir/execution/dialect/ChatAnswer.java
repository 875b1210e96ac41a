package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Reads what translations need of chat completions. */
final class ChatAnswer {
  private static final JsonMapper JSON =
      JsonMapper.builder().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).build();

  private ChatAnswer() {}

  /** A document; missing when it is none. */
  static JsonNode read(byte[] json) {
    try {
      JsonNode tree = JSON.readTree(json);
      return tree == null ? MissingNode.getInstance() : tree;
    } catch (IOException e) {
      return MissingNode.getInstance();
    }
  }

  /** A call's arguments, which are text in one API and an object in the other; empty when they are no object. */
  static JsonNode arguments(String text) {
    JsonNode tree = read(text.getBytes(StandardCharsets.UTF_8));
    return tree.isObject() ? tree : JSON.createObjectNode();
  }

  /** What a message or a delta thinks aloud, under either of its names. */
  static String reasoning(JsonNode message) {
    String text = message.path("reasoning_content").asText("");
    return text.isEmpty() ? message.path("reasoning").asText("") : text;
  }

  /** The words of an error answer. */
  static String message(int status, byte[] answer) {
    JsonNode tree = read(answer);
    JsonNode error = tree.path("error");
    String text = error.isTextual() ? error.textValue()
        : error.has("message") ? error.path("message").asText()
        : tree.path("message").asText("");
    return text.isEmpty() ? "the worker answered with status " + status : text;
  }

  /** The error that an event carries; null when it carries none. */
  static @Nullable String error(JsonNode event) {
    JsonNode error = event.path("error");
    return error.isObject() ? error.path("message").asText("")
        : error.isTextual() ? error.textValue()
        : null;
  }

  static int cached(JsonNode usage) {
    return usage.path("prompt_tokens_details").path("cached_tokens").asInt(0);
  }

  static byte[] bytes(ObjectNode json) {
    return json.toString().getBytes(StandardCharsets.UTF_8);
  }

  static byte[] event(ObjectNode json) {
    return ("event: " + json.path("type").asText() + "\ndata: " + json + "\n\n").getBytes(StandardCharsets.UTF_8);
  }
}
