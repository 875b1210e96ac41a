package io.kvasir.prompt;

import com.fasterxml.jackson.databind.JsonNode;

/**
 * The text of a conversation without a template: roles and message texts in order, up to the first media item.
 */
final class PlainText {
  private PlainText() {}

  static String of(JsonNode chat) {
    StringBuilder text = new StringBuilder();
    for (JsonNode tool : chat.path("tools")) {
      text.append(tool).append('\n');
    }
    for (JsonNode message : chat.path("messages")) {
      text.append(message.path("role").asText()).append('\n');
      JsonNode content = message.path("content");
      text.append(content.asText());
      for (JsonNode part : content) {
        if (PromptMedia.isItem(part)) {
          return text.toString();
        }
        text.append(part.path("text").asText());
      }
      for (JsonNode call : message.path("tool_calls")) {
        text.append(call.path("function"));
      }
      text.append('\n');
    }
    return text.toString();
  }
}
