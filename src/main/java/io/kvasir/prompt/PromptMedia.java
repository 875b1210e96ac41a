package io.kvasir.prompt;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Set;

/**
 * The media items of a conversation: images, audio, video. An item's tokens depend on the engine, so a chain ends
 * before the first one: a mark is inserted before it, and the rendered text is cut at the mark.
 */
final class PromptMedia {
  /** A text that does not occur in messages; if it does, only that request's chain is shorter. */
  private static final String MARK = "\uE0F1kvasir:item\uE0F1";

  private static final Set<String> TEXTS =
      Set.of("text", "input_text", "output_text", "refusal", "thinking", "tool_reference");

  private static final int CHARACTERS_PER_TOKEN = 4;
  private static final int TOKENS_PER_ITEM = 1000;

  private PromptMedia() {}

  /** Index of the first message with an item, -1 if there is none. */
  static int firstMessage(JsonNode chat) {
    int index = 0;
    for (JsonNode message : chat.path("messages")) {
      if (firstPart(message.path("content")) >= 0) {
        return index;
      }
      index++;
    }
    return -1;
  }

  /**
   * Estimated tokens of a conversation with items: its text's, and for each item those of an image of some megapixels.
   * Used for load only.
   */
  static int estimatedTokens(JsonNode chat) {
    long characters = 0;
    long items = 0;
    for (JsonNode message : chat.path("messages")) {
      JsonNode content = message.path("content");
      characters += content.asText().length();
      for (JsonNode part : content) {
        characters += part.path("text").asText().length();
        items += isItem(part) ? 1 : 0;
      }
    }
    return (int) Math.min(Integer.MAX_VALUE, characters / CHARACTERS_PER_TOKEN + items * TOKENS_PER_ITEM);
  }

  private static int firstPart(JsonNode content) {
    if (!content.isArray()) {
      return -1;
    }
    for (int i = 0; i < content.size(); i++) {
      if (isItem(content.get(i))) {
        return i;
      }
    }
    return -1;
  }

  static boolean isItem(JsonNode part) {
    return part.isObject() && !TEXTS.contains(part.path("type").asText("untyped"));
  }

  /**
   * The conversation with the mark in message {@code message}: before the item where the template iterates over parts
   * ({@code inPlace}), else before the message's text, where engines then put an item's placeholder.
   */
  static ObjectNode marked(ObjectNode chat, int message, boolean inPlace) {
    ObjectNode copy = chat.objectNode();
    copy.setAll(chat);
    ArrayNode messages = copy.arrayNode().addAll((ArrayNode) chat.get("messages"));
    ObjectNode turn = copy.objectNode();
    turn.setAll((ObjectNode) messages.get(message));
    ArrayNode content = copy.arrayNode().addAll((ArrayNode) turn.get("content"));
    ObjectNode mark = copy.objectNode().put("type", "text").put("text", MARK);
    content.insert(inPlace ? firstPart(content) : 0, mark);
    turn.set("content", content);
    messages.set(message, turn);
    copy.set("messages", messages);
    return copy;
  }

  /** The conversation before message {@code message}. */
  static ObjectNode before(ObjectNode chat, int message) {
    ObjectNode copy = chat.objectNode();
    copy.setAll(chat);
    ArrayNode messages = copy.arrayNode();
    for (int i = 0; i < message; i++) {
      messages.add(chat.get("messages").get(i));
    }
    copy.set("messages", messages);
    return copy.put("add_generation_prompt", false);
  }

  /** The rendered text up to the mark; empty when the template did not render the mark. */
  static String upToMark(String rendered) {
    int at = rendered.indexOf(MARK);
    return at < 0 ? "" : rendered.substring(0, at);
  }
}
