package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A turn of the assistant's in a {@code /v1/responses} body, which SGLang makes one message of: texts, thoughts and
 * calls of all its items. They are gathered and joined once, since a client may send a hundred thousand of them. Used
 * by one thread.
 */
final class SglangTurn {
  private static final String CONTENT = "content";
  private static final String REASONING = "reasoning_content";
  private static final String CALLS = "tool_calls";

  private final ObjectNode message;
  private final SglangVersion engine;
  private final List<String> texts = new ArrayList<>();
  private final List<String> thoughts = new ArrayList<>();

  /** Its own, not those of a body; null while it has none. */
  private @Nullable ArrayNode parts;
  private @Nullable ArrayNode calls;

  /**
   * A turn.
   *
   * @param message of its first item, and of all of them in the end
   */
  SglangTurn(ObjectNode message, SglangVersion engine) {
    this.message = message;
    this.engine = engine;
  }

  /** Whether what the assistant says next belongs to it. */
  boolean isContinuedBy(ObjectNode next) {
    return !SglangRule.CUSTOM_TOOLS.holds(engine)
        || message.path("phase").equals(next.path("phase"))
        || (message.size() == 2 && message.has(REASONING) && SglangRule.THOUGHTS_OF_ANY_PHASE.holds(engine));
  }

  /** Adds what the assistant says next. */
  void add(ObjectNode next) {
    if (next.has("phase")) {
      message.set("phase", next.get("phase"));
    }
    JsonNode content = next.path(CONTENT);
    if (!content.isMissingNode() && !isEmptyText(content)) {
      addContent(content);
    }
    if (!next.path(CALLS).isEmpty()) {
      if (calls == null) {
        calls = elements(message.path(CALLS));
        message.set(CALLS, calls);
      }
      next.path(CALLS).forEach(calls::add);
    }
    String thought = next.path(REASONING).asText("");
    if (!thought.isEmpty()) {
      String first = message.path(REASONING).asText("");
      if (thoughts.isEmpty() && !first.isEmpty()) {
        thoughts.add(first);
      }
      thoughts.add(thought);
      message.put(REASONING, thought);
    }
  }

  private void addContent(JsonNode content) {
    JsonNode before = message.path(CONTENT);
    if (before.isMissingNode() || isEmptyText(before)) {
      message.set(CONTENT, content);
    } else if (before.isTextual() && content.isTextual()) {
      if (texts.isEmpty()) {
        texts.add(before.textValue());
      }
      texts.add(content.textValue());
    } else {
      if (parts == null) {
        joinTexts();
        parts = parts(message.path(CONTENT));
        message.set(CONTENT, parts);
      }
      parts.addAll(parts(content));
    }
  }

  /** Joins what was gathered: the message is whole then. */
  void end() {
    joinTexts();
    if (!thoughts.isEmpty()) {
      message.put(REASONING, String.join("\n", thoughts));
    }
  }

  private void joinTexts() {
    if (!texts.isEmpty()) {
      message.put(CONTENT, String.join("\n\n", texts));
      texts.clear();
    }
  }

  private static boolean isEmptyText(JsonNode content) {
    return content.isTextual() && content.textValue().isEmpty();
  }

  private static ArrayNode parts(JsonNode content) {
    return content.isTextual()
        ? JsonNodeFactory.instance.arrayNode()
            .add(JsonNodeFactory.instance.objectNode().put("type", "text").<ObjectNode>set("text", content))
        : elements(content);
  }

  private static ArrayNode elements(JsonNode container) {
    ArrayNode elements = JsonNodeFactory.instance.arrayNode();
    container.forEach(elements::add);
    return elements;
  }
}
