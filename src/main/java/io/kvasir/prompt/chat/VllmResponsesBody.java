package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The conversion of a {@code /v1/responses} body to a chat completion, as vLLM does it: items of one turn of the
 * assistant's become one message, each adding what it has not yet.
 *
 * <p>Source: vLLM {@code entrypoints/openai/responses/utils.py} and {@code protocol.py} of 0.18 to 0.33.
 */
final class VllmResponsesBody {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  private static final Set<String> UNFINISHED = Set.of("in_progress", "incomplete");
  private static final String ASSISTANT = "assistant";
  private static final String CONTENT = "content";
  private static final String REASONING = "reasoning";
  private static final String CALLS = "tool_calls";
  /** Beginning of the ids of calls of tools that the engine's side runs. */
  private static final String HOSTED = "mcp_";

  private final ArrayNode turns = JSON.arrayNode();
  private final VllmVersion engine;

  private VllmResponsesBody(VllmVersion engine) {
    this.engine = engine;
  }

  static ObjectNode chat(ObjectNode body, VllmVersion engine) {
    ObjectNode chat = JSON.objectNode();
    ArrayNode messages = chat.putArray("messages");
    String instructions = body.path("instructions").asText("");
    if (!instructions.isEmpty()) {
      messages.addObject().put("role", "system").put(CONTENT, instructions);
    }
    JsonNode input = body.path("input");
    if (input.isTextual()) {
      messages.addObject().put("role", "user").set(CONTENT, input);
    }
    VllmResponsesBody conversation = new VllmResponsesBody(engine);
    input.forEach(conversation::item);
    messages.addAll(conversation.turns);
    if (isUnfinished(input)) {
      chat.put("continue_final_message", true).put("add_generation_prompt", false);
    }
    ArrayNode tools = VllmResponsesTools.of(body.path("tools"), body.path("tool_choice"), engine);
    if (tools != null) {
      chat.set("tools", tools);
    }
    if (body.hasNonNull("chat_template_kwargs") && VllmRule.RESPONSES_TURNS.holds(engine)) {
      chat.set("chat_template_kwargs", body.get("chat_template_kwargs"));
    }
    if (body.path(REASONING).hasNonNull("effort")) {
      chat.set("reasoning_effort", body.path(REASONING).get("effort"));
    }
    return chat;
  }

  /** Whether the last message is to be continued. */
  private static boolean isUnfinished(JsonNode input) {
    JsonNode last = input.isArray() ? input.path(input.size() - 1) : input;
    String type = last.path("type").asText("message");
    return (type.equals("message") || type.equals(REASONING)) && UNFINISHED.contains(last.path("status").asText());
  }

  private void item(JsonNode item) {
    String type = item.path("type").asText("message");
    switch (type) {
      case "function_call" -> call(item, name(item), item.get("arguments"));
      case "function_call_output" -> result(item);
      case REASONING -> add(REASONING, JSON.textNode(thoughts(item)));
      case "message" -> message(item);
      default -> {
        boolean custom = VllmRule.RESPONSES_CUSTOM_TOOLS.holds(engine);
        if (custom && type.equals("custom_tool_call")) {
          call(item, item.get("name"), VllmResponsesTools.payload(item.path("input")));
        } else if (custom && type.equals("custom_tool_call_output")) {
          result(item);
        } else {
          // The engine refuses it; a message without a role is refused here.
          turns.addObject();
        }
      }
    }
  }

  private @Nullable JsonNode name(JsonNode call) {
    String namespace = call.path("namespace").asText("");
    return namespace.isEmpty() || !VllmRule.RESPONSES_NAMESPACES.holds(engine)
        ? call.get("name")
        : JSON.textNode(VllmResponsesTools.inNamespace(namespace, call.path("name").asText()));
  }

  private void call(JsonNode item, @Nullable JsonNode name, @Nullable JsonNode arguments) {
    ObjectNode call = JSON.objectNode();
    call.set("id", item.get("call_id"));
    // With a type as a tool of this API has: VllmMessages then keeps the order.
    call.putObject("function").put("type", "function").<ObjectNode>set("name", name).set("arguments", arguments);
    call.put("type", "function");
    ObjectNode last = lastTurn();
    if (last != null && VllmRule.RESPONSES_TURNS.holds(engine)) {
      last.withArrayProperty(CALLS).add(call);
    } else if (last != null && last.has(REASONING) && item.path("id").asText().startsWith(HOSTED)) {
      last.putArray(CALLS).add(call);
    } else {
      turns.addObject().put("role", ASSISTANT).putArray(CALLS).add(call);
    }
  }

  private void result(JsonNode item) {
    ObjectNode message = turns.addObject().put("role", "tool");
    message.set(CONTENT, item.get("output"));
    message.set("tool_call_id", item.get("call_id"));
  }

  private String thoughts(JsonNode item) {
    JsonNode content = item.path(CONTENT);
    JsonNode summary = item.path("summary");
    boolean whole = !content.isEmpty() && (summary.isEmpty() || VllmRule.RESPONSES_THOUGHTS.holds(engine));
    return (whole ? content : summary).path(0).path("text").asText();
  }

  private void message(JsonNode item) {
    JsonNode content = item.path(CONTENT);
    JsonNode text = content.isArray() ? content.path(0).path("text") : content;
    boolean output = content.isArray() && item.has("type");
    boolean read = output || VllmRule.RESPONSES_NAMESPACES.holds(engine);
    if (item.path("role").asText().equals(ASSISTANT) && read && text.isTextual()) {
      add(CONTENT, text);
    } else {
      ObjectNode message = turns.addObject();
      message.set("role", item.get("role"));
      message.set(CONTENT, item.get(CONTENT));
    }
  }

  /** To the assistant's turn, unless it has such a field. */
  private void add(String field, JsonNode text) {
    ObjectNode last = VllmRule.RESPONSES_TURNS.holds(engine) ? lastTurn() : null;
    ObjectNode turn = last == null || last.hasNonNull(field) ? turns.addObject().put("role", ASSISTANT) : last;
    turn.set(field, text);
  }

  /** The last message, if it is the assistant's. */
  private @Nullable ObjectNode lastTurn() {
    JsonNode last = turns.path(turns.size() - 1);
    return last.path("role").asText().equals(ASSISTANT) ? (ObjectNode) last : null;
  }
}
