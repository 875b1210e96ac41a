package io.kvasir.prompt;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Set;

/**
 * The images, sounds and other items of a conversation. What the engine makes of one cannot be known here, so a chain
 * ends where the first appears: a mark is put before it, and the rendered text is cut at the mark.
 */
final class PromptMedia {
  /** Nobody types it; whoever does shortens his own chain. */
  private static final String MARK = "\uE0F1kvasir:item\uE0F1";

  private static final Set<String> TEXTS =
      Set.of("text", "input_text", "output_text", "refusal", "thinking", "tool_reference");

  private static final int CHARACTERS_OF_TOKEN = 4;
  private static final int TOKENS_OF_ITEM = 1000;

  private PromptMedia() {}

  /** The first message with an item, -1 if there is none. */
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
   * About how many tokens a conversation with items is: its text's, and for each item what a picture of some megapixels
   * comes to. Only load is reckoned by it.
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
    return (int) Math.min(Integer.MAX_VALUE, characters / CHARACTERS_OF_TOKEN + items * TOKENS_OF_ITEM);
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
   * The conversation with the mark in message {@code message}: before the item where the template walks through parts
   * ({@code inPlace}), else before the message's text, since that is where engines put an item's placeholder then.
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

  /** The rendered text up to the mark; nothing when the template did not show where it is. */
  static String upToMark(String rendered) {
    int at = rendered.indexOf(MARK);
    return at < 0 ? "" : rendered.substring(0, at);
  }
}
