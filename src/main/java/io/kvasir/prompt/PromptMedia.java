package io.kvasir.prompt;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Set;

/**
 * The media items of a conversation: images, audio, video, and embeddings instead of a text. An item's tokens depend on
 * the engine, so a chain ends before the first one: a mark is inserted before it, and the rendered text is cut at the
 * mark.
 */
final class PromptMedia {
  /** A text that does not occur in messages; if it does, only that request's chain is shorter. */
  private static final String MARK = "\uE0F1kvasir:item\uE0F1";

  private static final Set<String> TEXTS =
      Set.of("text", "input_text", "output_text", "refusal", "thinking", "reasoning", "tool_reference");

  private static final int CHARACTERS_PER_TOKEN = 4;
  private static final int TOKENS_PER_ITEM = 1000;

  private PromptMedia() {}

  /** Index of the first message with an item, -1 if there is none. */
  static int firstMessage(JsonNode chat) {
    int index = 0;
    for (JsonNode message : chat.path("messages")) {
      if (hasEmbeddedReasoning(message) || firstPart(message.path("content")) >= 0) {
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

  /** Whether an assistant's reasoning is given as embeddings, which vLLM takes since 0.33. */
  private static boolean hasEmbeddedReasoning(JsonNode message) {
    return message.path("role").asText().equals("assistant")
        && (isEmbedded(message.path("reasoning")) || isEmbedded(message.path("reasoning_content")));
  }

  private static boolean isEmbedded(JsonNode reasoning) {
    return reasoning.path("type").asText().equals("prompt_embeds");
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
   * ({@code inPlace}), else before the message's text, where engines then put an item's placeholder. Reasoning in
   * embeddings becomes the mark; one before the content is for templates that do not print reasoning.
   */
  static ObjectNode marked(ObjectNode chat, int message, boolean inPlace) {
    ObjectNode copy = chat.objectNode();
    copy.setAll(chat);
    ArrayNode messages = copy.arrayNode().addAll((ArrayNode) chat.get("messages"));
    ObjectNode turn = copy.objectNode();
    turn.setAll((ObjectNode) messages.get(message));
    int place = inPlace ? firstPart(turn.path("content")) : 0;
    if (hasEmbeddedReasoning(turn)) {
      turn.remove("reasoning_content");
      turn.put("reasoning", MARK);
      place = 0;
    }
    turn.set("content", withMark(turn.path("content"), place));
    messages.set(message, turn);
    copy.set("messages", messages);
    return copy;
  }

  private static ArrayNode withMark(JsonNode content, int place) {
    ArrayNode parts = JsonNodeFactory.instance.arrayNode();
    if (content.isTextual()) {
      parts.add(content);
    }
    content.forEach(parts::add);
    parts.insert(place, parts.objectNode().put("type", "text").put("text", MARK));
    return parts;
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
