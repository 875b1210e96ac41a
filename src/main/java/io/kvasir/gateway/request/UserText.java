package io.kvasir.gateway.request;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.routing.RequestFacts.UserTurn;
import org.jspecify.annotations.Nullable;

/** Finds the user's text in a request's body: in chats, messages and responses, and prompts of completions. */
final class UserText {
  private UserText() {}

  /** The text of the user's first or last message that has any, or of a prompt; null when there is none. */
  static @Nullable String in(JsonNode body, UserTurn turn) {
    if (body.has("messages")) {
      return of(body.path("messages"), turn);
    }
    if (body.has("prompt")) {
      JsonNode prompt = body.path("prompt");
      return text(prompt.isArray() ? prompt.path(0) : prompt);
    }
    JsonNode input = body.path("input");
    return input.isTextual() ? text(input) : of(input, turn);
  }

  private static @Nullable String of(JsonNode messages, UserTurn turn) {
    for (int i = 0; i < messages.size(); i++) {
      JsonNode message = messages.path(turn == UserTurn.FIRST ? i : messages.size() - 1 - i);
      String text = message.path("role").asText().equals("user") ? content(message.path("content")) : null;
      if (text != null) {
        return text;
      }
    }
    return null;
  }

  /** A text, or parts of which some are texts: others are images, sound and the results of tools. */
  private static @Nullable String content(JsonNode content) {
    if (!content.isArray()) {
      return text(content);
    }
    StringBuilder joined = new StringBuilder();
    for (JsonNode part : content) {
      String type = part.path("type").asText();
      String text = type.equals("text") || type.equals("input_text") ? text(part.path("text")) : text(part);
      if (text != null) {
        joined.append(joined.isEmpty() ? "" : "\n").append(text);
      }
    }
    return joined.isEmpty() ? null : joined.toString();
  }

  private static @Nullable String text(JsonNode node) {
    return node.isTextual() && !node.textValue().isBlank() ? node.textValue() : null;
  }
}
