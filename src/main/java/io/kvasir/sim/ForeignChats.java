package io.kvasir.sim;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** Requests of other chat APIs as the chat completions request that renders to the same prompt. */
final class ForeignChats {
  private static final String BILLING = "x-anthropic-billing-header";

  private ForeignChats() {}

  /** From {@code /v1/messages}: the system prompt becomes the first message. */
  static ObjectNode fromMessages(Body body) throws ApiError {
    JsonNode messages = body.get("messages");
    if (messages == null || !messages.isArray()) {
      throw ApiError.missing("messages");
    }
    ObjectNode chat = JsonNodeFactory.instance.objectNode();
    ArrayNode turns = chat.putArray("messages");
    JsonNode system = body.get("system");
    if (system != null) {
      String said = joined(system, "");
      if (!said.isEmpty()) {
        turns.addObject().put("role", "system").put("content", said);
      }
    }
    for (JsonNode message : messages) {
      turns.addObject().put("role", message.path("role").asText()).put("content", joined(message.path("content"), ""));
    }
    return chat;
  }

  /** From {@code /v1/responses}: the instructions become the first message, a bare input the user's. */
  static ObjectNode fromResponses(Body body) throws ApiError {
    JsonNode input = body.get("input");
    if (input == null) {
      throw ApiError.missing("input");
    }
    ObjectNode chat = JsonNodeFactory.instance.objectNode();
    ArrayNode turns = chat.putArray("messages");
    JsonNode instructions = body.get("instructions");
    if (instructions != null) {
      turns.addObject().put("role", "system").put("content", instructions.asText());
    }
    if (input.isTextual()) {
      turns.addObject().put("role", "user").put("content", input.textValue());
    } else {
      for (JsonNode item : input) {
        if (item.has("role")) {
          turns.addObject().put("role", item.path("role").asText()).put("content", joined(item.path("content"), ""));
        }
      }
    }
    return chat;
  }

  private static String joined(JsonNode content, String gap) {
    if (content.isTextual()) {
      return content.textValue();
    }
    StringBuilder text = new StringBuilder();
    for (JsonNode part : content) {
      String said = part.path("text").asText();
      if (!said.startsWith(BILLING)) {
        text.append(text.isEmpty() ? "" : gap).append(said);
      }
    }
    return text.toString();
  }
}
