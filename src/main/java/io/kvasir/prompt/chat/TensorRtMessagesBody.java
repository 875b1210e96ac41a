package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.template.JsonValues;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The conversion of an Anthropic {@code /v1/messages} body to a chat completion, as TensorRT-LLM 1.3 does it; earlier
 * versions do not serve it. Messages of the system's that come before all others are one; later ones stay where they
 * are.
 *
 * <p>Source: TensorRT-LLM {@code serve/anthropic_adapter.py}.
 */
final class TensorRtMessagesBody {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  /** A system block of clients that differs in every request; engines remove it. */
  private static final String BILLING = "x-anthropic-billing-header:";

  private static final Pattern BILLING_FIELD =
      Pattern.compile("\\s*+[A-Za-z_][\\w.-]*+=[^;]*+;\\s*+", Pattern.UNICODE_CHARACTER_CLASS);

  private final ArrayNode messages = JSON.arrayNode();

  private TensorRtMessagesBody() {}

  static ObjectNode chat(ObjectNode body) {
    TensorRtMessagesBody conversation = new TensorRtMessagesBody();
    conversation.addAll(body);
    ObjectNode chat = JSON.objectNode();
    chat.set("messages", conversation.messages);
    ArrayNode tools = tools(body.path("tools"));
    if (!tools.isEmpty()) {
      chat.set("tools", tools);
    }
    JsonNode budget = body.path("thinking").path("budget_tokens");
    if (budget.isNumber()) {
      chat.set("thinking_token_budget", budget);
    }
    ObjectNode kwargs = kwargs(body);
    if (!kwargs.isEmpty()) {
      chat.set("chat_template_kwargs", kwargs);
    }
    return chat;
  }

  private static ArrayNode tools(JsonNode given) {
    ArrayNode tools = JSON.arrayNode();
    for (JsonNode tool : given) {
      if (tool.hasNonNull("input_schema")) {
        ObjectNode function = tools.addObject().put("type", "function").putObject("function");
        function.set("name", tool.get("name"));
        function.set("description", tool.get("description"));
        function.set("parameters", tool.get("input_schema"));
        function.set("strict", tool.get("strict"));
      }
    }
    return tools;
  }

  private static ObjectNode kwargs(ObjectNode body) {
    ObjectNode kwargs = JSON.objectNode();
    if (body.hasNonNull("thinking")) {
      kwargs.put("enable_thinking", !body.path("thinking").path("type").asText().equals("disabled"));
    }
    String effort = body.path("output_config").path("effort").asText("");
    if (!effort.isEmpty()) {
      kwargs.put("reasoning_effort", effort);
    }
    for (JsonNode edit : body.path("context_management").path("edits")) {
      if (edit.path("type").asText().startsWith("clear_thinking") && edit.path("keep").asText().equals("all")) {
        // Templates know one of the two.
        kwargs.put("clear_thinking", false).put("drop_thinking", false);
      }
    }
    return kwargs;
  }

  private void addAll(ObjectNode body) {
    List<String> leading = new ArrayList<>();
    addTexts(body.path("system"), leading);
    if (!leading.isEmpty() && body.path("system").isArray() && isBilling(body.path("system").path(0))) {
      leading.removeFirst();
    }
    boolean begun = false;
    for (JsonNode message : body.path("messages")) {
      if (begun || !message.path("role").asText().equals("system")) {
        begun = true;
        add(message);
      } else if (message.path("content").isTextual()) {
        leading.add(message.path("content").textValue());
      } else {
        message.path("content").forEach(block -> addLaterText(block, leading));
      }
    }
    if (!leading.isEmpty()) {
      messages.insertObject(0).put("role", "system").put("content", String.join("\n\n", leading));
    }
  }

  private static void addTexts(JsonNode system, List<String> texts) {
    if (!system.asText("").isEmpty()) {
      texts.add(system.asText());
    }
    for (JsonNode block : system) {
      if (!block.path("text").asText("").isEmpty()) {
        texts.add(block.path("text").asText());
      }
    }
  }

  private static void addLaterText(JsonNode block, List<String> texts) {
    if (block.path("type").asText().equals("text")) {
      texts.add(block.path("text").asText());
    }
  }

  private static boolean isBilling(JsonNode block) {
    String text = block.path("text").asText();
    if (!text.startsWith(BILLING)) {
      return false;
    }
    Matcher field = BILLING_FIELD.matcher(text);
    int at = BILLING.length();
    boolean any = false;
    while (at < text.length()) {
      if (!field.region(at, text.length()).lookingAt()) {
        return false;
      }
      any = true;
      at = field.end();
    }
    return any;
  }

  private void add(JsonNode message) {
    String role = message.path("role").asText();
    JsonNode content = message.path("content");
    if (content.isTextual()) {
      messages.addObject().put("role", role).set("content", content);
      return;
    }
    ObjectNode turn = turn(role);
    StringBuilder thoughts = new StringBuilder();
    ArrayNode calls = JSON.arrayNode();
    for (JsonNode block : content) {
      switch (block.path("type").asText()) {
        case "text" -> parts(turn).addObject().put("type", "text").set("text", block.get("text"));
        case "image" -> parts(turn).addObject().put("type", "image_url").set("image_url", block.get("source"));
        case "thinking" -> {
          turn.putIfAbsent("reasoning", JSON.textNode(""));
          thoughts.append(block.path("thinking").asText());
        }
        case "tool_use" -> addCall(block, calls);
        case "tool_result" -> {
          if (turn.has("content")) {
            addTurn(turn, thoughts);
            turn = turn(role);
          }
          addResult(block);
        }
        default -> { }
      }
    }
    if (!calls.isEmpty()) {
      StringBuilder text = new StringBuilder();
      turn.path("content").forEach(part -> text.append(part.path("text").asText()));
      turn.set("content", text.isEmpty() ? JSON.nullNode() : JSON.textNode(text.toString()));
      turn.set("tool_calls", calls);
    }
    if (turn.has("content") || turn.has("reasoning")) {
      addTurn(turn, thoughts);
    }
  }

  /** Adds a turn with the thoughts that were gathered for it. */
  private void addTurn(ObjectNode turn, StringBuilder thoughts) {
    if (turn.has("reasoning")) {
      turn.put("reasoning", thoughts.toString());
      thoughts.setLength(0);
    }
    messages.add(turn);
  }

  private static ObjectNode turn(String role) {
    return JSON.objectNode().put("role", role);
  }

  private static ArrayNode parts(ObjectNode turn) {
    return turn.withArrayProperty("content");
  }

  private static void addCall(JsonNode block, ArrayNode calls) {
    ObjectNode call = calls.addObject();
    call.set("id", block.get("id"));
    call.put("type", "function");
    call.putObject("function")
        .put("arguments", block.path("input").isObject() ? JsonValues.text(block.get("input")) : "{}")
        .set("name", block.get("name"));
  }

  private void addResult(JsonNode block) {
    JsonNode content = block.path("content");
    List<String> texts = new ArrayList<>();
    content.forEach(part -> texts.add(part.path("text").asText()));
    String text = content.isTextual() ? content.textValue() : String.join("\n", texts);
    ObjectNode result = messages.addObject().put("role", "tool");
    result.set("tool_call_id", block.get("tool_use_id"));
    result.put("content", block.path("is_error").asBoolean(false) ? "Tool execution failed: " + text : text);
  }
}
