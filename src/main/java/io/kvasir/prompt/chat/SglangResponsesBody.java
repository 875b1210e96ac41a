package io.kvasir.prompt.chat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The conversion of a {@code /v1/responses} body to a chat completion, as SGLang does it: items of one turn of the
 * assistant's become one message, and system messages one at the beginning unless the template has others, too.
 *
 * <p>Source: SGLang {@code srt/entrypoints/openai/serving_responses.py} and {@code responses_adapters.py}.
 */
final class SglangResponsesBody {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  private static final JsonMapper READER =
      JsonMapper.builder().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).build();
  private static final Set<String> ITEM_FIELDS = Set.of("id", "status", "type");
  private static final Set<String> MESSAGE_FIELDS = Set.of("role", "content");
  private static final String CONTENT = "content";
  private static final String REASONING = "reasoning_content";
  private static final String CALLS = "tool_calls";
  private static final String DEVELOPER_LABEL = "Developer instructions:";

  private final ArrayNode messages = JSON.arrayNode();
  private final SglangVersion engine;
  private final SglangItems items = new SglangItems();
  private final boolean typed;

  /** The last message, if it is the assistant's and what it says next may belong to it. */
  private @Nullable SglangTurn turn;

  private SglangResponsesBody(SglangVersion engine, JsonNode input) {
    this.engine = engine;
    this.typed = !SglangRule.RESPONSES_AS_SENT.holds(engine)
        && SglangItems.areTyped(input, !SglangRule.RESPONSES_REPLAYED.holds(engine));
  }

  /**
   * The chat completion.
   *
   * @param hasLaterSystem whether the model's template has system messages between others
   */
  static ObjectNode chat(ObjectNode body, SglangVersion engine, boolean hasLaterSystem) {
    JsonNode input = body.path("input");
    SglangResponsesBody conversation = new SglangResponsesBody(engine, input);
    String instructions = body.path("instructions").asText("");
    if (!instructions.isEmpty()) {
      conversation.add(message("system").put(CONTENT, instructions));
    }
    if (input.isTextual()) {
      conversation.add(message("user").set(CONTENT, input));
    }
    for (JsonNode item : input) {
      if (item instanceof ObjectNode object) {
        conversation.item(object);
      }
    }
    conversation.endTurn();
    ObjectNode chat = JSON.objectNode();
    boolean inPlace = SglangRule.RESPONSES_INLINE_SYSTEM.holds(engine)
        ? hasLaterSystem : !SglangRule.RESPONSES_BY_TURNS.holds(engine);
    chat.set("messages", inPlace ? conversation.messages : systemFirst(conversation.messages));
    ArrayNode tools = SglangResponsesTools.of(body.path("tools"), engine);
    if (!tools.isEmpty()) {
      chat.set("tools", tools);
      chat.set("tool_choice", SglangResponsesTools.choice(body.path("tool_choice"), engine));
    }
    JsonNode effort = effort(body.path("reasoning"));
    if (!effort.isNull() && SglangRule.EFFORT_SWITCHES_THINKING.holds(engine)) {
      chat.set("reasoning_effort", effort);
    }
    if (body.hasNonNull("chat_template_kwargs") && SglangRule.RESPONSES_KWARGS.holds(engine)) {
      chat.set("chat_template_kwargs", body.get("chat_template_kwargs"));
    }
    return chat;
  }

  private static JsonNode effort(JsonNode reasoning) {
    return !reasoning.isObject() ? JSON.nullNode() : reasoning.has("effort") ? reasoning.get("effort")
        : JSON.textNode("medium");
  }

  private static ObjectNode message(String role) {
    return JSON.objectNode().put("role", role);
  }

  private void item(ObjectNode item) {
    switch (item.path("type").asText("message")) {
      case "function_call" -> add(call(item, arguments(item.path("arguments"))));
      case "custom_tool_call" ->
          add(call(item, JSON.objectNode().<ObjectNode>set("input", orEmpty(item.get("input"))).toString()));
      case "function_call_output", "custom_tool_call_output" -> {
        ObjectNode result = message("tool");
        result.set("tool_call_id", item.path("call_id"));
        result.set(CONTENT, SglangItems.output(item.path("output")));
        add(result);
      }
      case "reasoning" -> {
        String thoughts = items.thoughts(item, SglangRule.CUSTOM_TOOLS.holds(engine));
        if (!thoughts.isEmpty()) {
          add(message("assistant").put(REASONING, thoughts));
        }
      }
      default -> add(chatMessage(item));
    }
  }

  /** Templates read a call's arguments as an object. */
  private static String arguments(JsonNode arguments) {
    if (arguments.isObject()) {
      return arguments.toString();
    }
    try {
      return arguments.isTextual() && READER.readTree(arguments.textValue()).isObject()
          ? arguments.textValue() : "{}";
    } catch (JsonProcessingException broken) {
      return "{}";
    }
  }

  private static ObjectNode call(ObjectNode item, String arguments) {
    ObjectNode message = message("assistant");
    ObjectNode call = message.putArray(CALLS).addObject();
    call.set("id", item.path("call_id").asText("").isEmpty() ? item.path("id") : item.get("call_id"));
    call.put("type", "function");
    ObjectNode function = call.putObject("function");
    function.set("name", item.path("name"));
    function.put("arguments", arguments);
    return message;
  }

  /** A message that somebody said, with the parts of chats. */
  private ObjectNode chatMessage(ObjectNode item) {
    ObjectNode message = JSON.objectNode();
    item.properties().forEach(field -> {
      boolean unknown = field.getKey().equals("phase") ? !SglangRule.CUSTOM_TOOLS.holds(engine)
          : typed && !MESSAGE_FIELDS.contains(field.getKey());
      if (!field.getValue().isNull() && !ITEM_FIELDS.contains(field.getKey()) && !unknown) {
        message.set(field.getKey(), field.getValue());
      }
    });
    if (typed && !SglangRule.RESPONSES_REPLAYED.holds(engine) && SglangItems.isReplayed(item)) {
      // Neither a text nor parts: nothing of it is left beside what else the assistant said.
      message.putObject(CONTENT);
      return message;
    }
    JsonNode content = item.path(CONTENT);
    if (item.path("role").asText().equals("developer") && SglangRule.RESPONSES_BY_TURNS.holds(engine)) {
      message.put("role", "system");
      if (SglangRule.CUSTOM_TOOLS.holds(engine) && !content.isNull() && !content.isMissingNode()) {
        content = labelled(content);
        message.set(CONTENT, content);
      }
    }
    if (content.isArray()) {
      ArrayNode parts = message.putArray(CONTENT);
      content.forEach(part -> parts.add(part(part)));
    }
    return message;
  }

  /** What a developer says stays apart from other instructions. */
  private static JsonNode labelled(JsonNode content) {
    if (content.isTextual()) {
      return JSON.textNode(DEVELOPER_LABEL + "\n" + content.textValue());
    }
    if (!content.isArray()) {
      return content;
    }
    ArrayNode parts = content.deepCopy();
    for (JsonNode part : parts) {
      if (part instanceof ObjectNode object && part.path("text").isTextual()) {
        object.put("text", DEVELOPER_LABEL + "\n" + part.path("text").textValue());
        return parts;
      }
    }
    return parts.insert(0, JSON.objectNode().put("type", "input_text").put("text", DEVELOPER_LABEL));
  }

  private static JsonNode part(JsonNode part) {
    return switch (part.path("type").asText()) {
      case "input_text", "output_text" ->
          JSON.objectNode().put("type", "text")
              .<ObjectNode>set("text", part.has("text") ? part.get("text") : JSON.textNode(""));
      case "input_image" -> {
        ObjectNode image = JSON.objectNode().put("type", "image_url");
        JsonNode url = part.path("image_url");
        image.set("image_url", url.isObject() ? url : JSON.objectNode().set("url", url));
        yield image;
      }
      default -> part instanceof ObjectNode object ? object.deepCopy() : part;
    };
  }

  /** Adds a message; what the assistant goes on saying belongs to what it said before. */
  private void add(ObjectNode message) {
    if (turn != null && isTurn(message) && turn.isContinuedBy(message)) {
      turn.add(message);
      return;
    }
    endTurn();
    turn = isTurn(message) ? new SglangTurn(message, engine) : null;
    messages.add(message);
  }

  private boolean isTurn(ObjectNode message) {
    return message.path("role").asText().equals("assistant") && SglangRule.RESPONSES_BY_TURNS.holds(engine);
  }

  private void endTurn() {
    if (turn != null) {
      turn.end();
    }
  }

  private static ArrayNode systemFirst(ArrayNode messages) {
    List<String> texts = new ArrayList<>();
    ArrayNode others = JSON.arrayNode();
    for (JsonNode message : messages) {
      if (!message.path("role").asText().equals("system")) {
        others.add(message);
        continue;
      }
      JsonNode content = message.path(CONTENT);
      if (content.isTextual()) {
        texts.add(content.textValue());
      }
      for (JsonNode part : content) {
        if (part.path("text").isTextual()) {
          texts.add(part.path("text").textValue());
        }
      }
    }
    return texts.isEmpty() ? others
        : JSON.arrayNode().add(message("system").put(CONTENT, String.join("\n\n", texts))).addAll(others);
  }

  /** Python's idea of it: nothing, zero and what has nothing in it. */
  private static JsonNode orEmpty(@Nullable JsonNode value) {
    boolean empty = value == null || value.isNull() || (value.isContainerNode() ? value.isEmpty()
        : value.isNumber() ? value.doubleValue() == 0 : !value.isTextual() && !value.asBoolean());
    return value == null || empty ? JSON.textNode("") : value;
  }
}
