package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.kvasir.prompt.template.TemplateException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The conversion of a {@code /v1/responses} body to a chat completion, as TensorRT-LLM does it: calls that follow each
 * other are of one message. Before 1.3 whatever is called a message is the assistant's, and a call has a role of its
 * own.
 *
 * <p>Source: TensorRT-LLM {@code serve/responses_utils.py}.
 */
final class TensorRtResponsesBody {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  private static final Set<String> TEXTS = Set.of("input_text", "output_text");
  private static final String CONTENT = "content";
  private static final String CALLS = "tool_calls";

  private final ArrayNode messages = JSON.arrayNode();
  private final boolean developerAsSystem;

  private TensorRtResponsesBody(boolean developerAsSystem) {
    this.developerAsSystem = developerAsSystem;
  }

  /**
   * The chat completion.
   *
   * @param developerAsSystem whether developers' messages become the system's
   */
  static ObjectNode chat(ObjectNode body, TensorRtVersion engine, boolean developerAsSystem) {
    TensorRtResponsesBody conversation = new TensorRtResponsesBody(developerAsSystem);
    String instructions = body.path("instructions").asText("");
    if (!instructions.isEmpty()) {
      conversation.add("system", JSON.textNode(instructions));
    }
    int start = conversation.messages.size();
    JsonNode input = body.path("input");
    if (input.isTextual()) {
      conversation.add("user", input);
    }
    boolean items = TensorRtRule.RESPONSES_ITEMS.holds(engine);
    for (JsonNode item : input) {
      if (items) {
        conversation.item(item, start);
      } else {
        conversation.olderItem(item);
      }
    }
    ObjectNode chat = JSON.objectNode();
    chat.set("messages", conversation.messages);
    chat.set("tools", TensorRtResponsesTools.of(body.path("tools"), engine));
    if (items) {
      ObjectNode kwargs = kwargs(body);
      if (!kwargs.isEmpty()) {
        chat.set("chat_template_kwargs", kwargs);
      }
    }
    return chat;
  }

  private static ObjectNode kwargs(ObjectNode body) {
    ObjectNode kwargs =
        body.get("chat_template_kwargs") instanceof ObjectNode given ? given.deepCopy() : JSON.objectNode();
    String effort = body.path("reasoning").path("effort").asText("");
    if (!effort.isEmpty()) {
      kwargs.putIfAbsent("reasoning_effort", JSON.textNode(effort));
      kwargs.putIfAbsent("thinking", JSON.booleanNode(true));
    }
    return kwargs;
  }

  private ObjectNode add(String role, JsonNode content) {
    ObjectNode message = messages.addObject().put("role", role);
    message.set(CONTENT, content);
    return message;
  }

  private void olderItem(JsonNode item) {
    switch (item.path("type").asText()) {
      case "message" -> add("assistant", item.path(CONTENT).path(0).path("text"));
      case "reasoning" -> add("assistant", JSON.nullNode()).set("reasoning", item.path(CONTENT).path(0).path("text"));
      case "function_call" -> add("function", item.path("arguments"));
      case "function_call_output" -> add("tool", item.path("output")).set("tool_call_id", item.get("call_id"));
      default -> addAsSent(item);
    }
  }

  private ObjectNode addAsSent(JsonNode item) {
    // The type is that of no chat message, which is read otherwise.
    ObjectNode message = messages.addObject();
    item.properties().forEach(field -> message.set(field.getKey(), field.getValue()));
    return message.put("type", "");
  }

  private void item(JsonNode item, int start) {
    switch (item.path("type").asText()) {
      case "" -> addAsSent(item).put("role", role(item, "")).set(CONTENT, parts(item.path(CONTENT)));
      case "message" -> add(role(item, "assistant"), joined(item.path(CONTENT)));
      case "output_text" -> add("assistant", JSON.textNode(item.path("text").asText("")));
      case "reasoning" -> {
        JsonNode content = item.path(CONTENT).isEmpty() ? item.path("summary") : item.path(CONTENT);
        if (!content.isEmpty()) {
          messages.addObject().put("role", "assistant").set("reasoning", joined(content));
        }
      }
      case "function_call" ->
          addCall(item, item.hasNonNull("arguments") ? item.get("arguments") : JSON.textNode(""), start);
      case "custom_tool_call" -> addCall(
          item, JSON.textNode(JSON.objectNode().put("input", item.path("input").asText("")).toString()), start);
      case "function_call_output", "custom_tool_call_output" ->
          add("tool", parts(item.path("output"))).put("tool_call_id", item.path("call_id").asText(""));
      case "agent_message" -> add("user", JSON.textNode(text(item)));
      default -> {
        String text = text(item);
        if (!text.isEmpty()) {
          add(role(item, "user"), JSON.textNode(text));
        }
      }
    }
  }

  private String role(JsonNode item, String otherwise) {
    String role = item.path("role").asText("");
    return role.isEmpty() ? otherwise : role.equals("developer") && developerAsSystem ? "system" : role;
  }

  /** A call of the message before, where that is the assistant's. */
  private void addCall(JsonNode item, JsonNode arguments, int start) {
    ObjectNode turn = messages.size() > start ? (ObjectNode) messages.get(messages.size() - 1) : null;
    if (turn == null || !turn.path("role").asText().equals("assistant")) {
      turn = add("assistant", JSON.nullNode());
    }
    if (turn.hasNonNull(CALLS) && !turn.get(CALLS).isArray()) {
      throw new TemplateException.Request("input: tool_calls must be a list");
    }
    turn.put("type", "");
    String name = item.path("name").asText("");
    String namespace = item.path("namespace").asText("");
    ObjectNode call = turn.withArrayProperty(CALLS).addObject();
    call.put("id", item.path(item.path("call_id").asText("").isEmpty() ? "id" : "call_id").asText(""));
    call.put("type", "function");
    call.putObject("function").put("name", namespace.isEmpty() ? name : namespace + "." + name)
        .set("arguments", arguments);
  }

  /** Content with parts as chat completions have them. */
  private static JsonNode parts(JsonNode content) {
    if (!content.isArray()) {
      return content.isMissingNode() ? JSON.nullNode() : content;
    }
    ArrayNode parts = JSON.arrayNode();
    for (JsonNode part : content) {
      if (TEXTS.contains(part.path("type").asText())) {
        parts.addObject().put("type", "text").put("text", part.path("text").asText(""));
      } else {
        parts.add(part);
      }
    }
    return parts;
  }

  private static TextNode joined(JsonNode content) {
    StringBuilder text = new StringBuilder(content.asText(""));
    content.forEach(part -> text.append(part.path("text").asText("")));
    return JSON.textNode(text.toString());
  }

  /** The text of an item that the API does not have. */
  private static String text(JsonNode item) {
    JsonNode content = item.path(CONTENT);
    if (content.isTextual()) {
      return content.textValue();
    }
    if (!content.isArray()) {
      return item.path("text").asText("");
    }
    List<String> texts = new ArrayList<>();
    for (JsonNode part : content) {
      String text = part.path("text").asText("");
      if (text.isEmpty() && part.path("type").asText().equals("encrypted_content")) {
        text = part.path("encrypted_content").asText("");
      }
      if (!text.isEmpty()) {
        texts.add(text);
      }
    }
    return String.join("\n", texts);
  }
}
