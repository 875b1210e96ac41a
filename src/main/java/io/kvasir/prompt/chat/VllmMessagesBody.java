package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.template.JsonValues;
import java.util.ArrayList;
import java.util.List;

/**
 * The conversion of an Anthropic {@code /v1/messages} body to a chat completion, as vLLM does it since 0.17. A tool's
 * result becomes a turn of its own before the rest of the message that has it.
 *
 * <p>Source: vLLM {@code entrypoints/anthropic/serving.py} and {@code protocol.py}.
 */
final class VllmMessagesBody {
  /** A system block of clients that differs in every request; engines remove it. */
  private static final String BILLING = "x-anthropic-billing-header";
  private static final String CONTENT = "content";
  /** What most templates have for thinking that is switched off. */
  private static final String NO_EFFORT = "none";

  private final ObjectNode body;
  private final VllmVersion version;
  private final MessagesRules rules;
  private final ArrayNode messages = JsonNodeFactory.instance.arrayNode();

  private VllmMessagesBody(ObjectNode body, VllmVersion version, MessagesRules rules) {
    this.body = body;
    this.version = version;
    this.rules = rules;
  }

  static ObjectNode chat(ObjectNode body, VllmVersion version, MessagesRules rules) {
    return new VllmMessagesBody(body, version, rules).chat();
  }

  private ObjectNode chat() {
    system();
    body.path("messages").forEach(this::add);
    ObjectNode chat = JsonNodeFactory.instance.objectNode();
    chat.set("messages", messages);
    ArrayNode tools = VllmMessagesTools.of(body, version);
    if (!tools.isEmpty()) {
      chat.set("tools", tools);
    }
    if (body.hasNonNull("chat_template_kwargs") && VllmRule.MESSAGES_KWARGS.holds(version)) {
      chat.set("chat_template_kwargs", body.get("chat_template_kwargs"));
    }
    JsonNode budget = body.path("thinking").path("budget_tokens");
    if (budget.isNumber() && VllmRule.MESSAGES_THINKING.holds(version)) {
      chat.set("thinking_token_budget", budget);
    }
    if (VllmRule.MESSAGES_THINKING.holds(version) && body.at("/thinking/type").asText().equals("disabled")) {
      chat.put("reasoning_effort", rules.disabledEffort() == null ? NO_EFFORT : rules.disabledEffort());
    } else if (VllmRule.MESSAGES_EFFORT.holds(version) && body.at("/output_config/effort").isTextual()) {
      chat.set("reasoning_effort", body.at("/output_config/effort"));
    }
    return chat;
  }

  /** The system's text before all, with what the system says later where that has to be there. */
  private void system() {
    JsonNode given = body.path("system");
    StringBuilder leading = new StringBuilder(given.isTextual() ? given.textValue() : texts(given));
    if (rules.mergesSystem()) {
      for (JsonNode message : body.path("messages")) {
        leading.append(isSystem(message) ? laterSystem(message.path(CONTENT)) : "");
      }
    }
    if (given.isArray() && !given.isEmpty() && !VllmRule.MESSAGES_EMPTY_SYSTEM.holds(version)) {
      messages.addObject().put("role", "system").put(CONTENT, leading.toString());
    } else {
      addSystem(leading.toString());
    }
  }

  private static boolean isSystem(JsonNode message) {
    return message.path("role").asText().equals("system");
  }

  private String laterSystem(JsonNode content) {
    if (!content.isTextual()) {
      return texts(content);
    }
    boolean billing = content.textValue().startsWith(BILLING) && VllmRule.INLINE_BILLING.holds(version);
    return billing ? "" : content.textValue();
  }

  private String texts(JsonNode blocks) {
    StringBuilder text = new StringBuilder();
    for (JsonNode block : blocks) {
      String part = block.path("text").asText("");
      boolean billing = part.startsWith(BILLING) && VllmRule.MESSAGES_BILLING.holds(version);
      if (block.path("type").asText().equals("text") && !billing) {
        text.append(part);
      }
    }
    return text.toString();
  }

  private void addSystem(String text) {
    if (!text.isEmpty()) {
      messages.addObject().put("role", "system").put(CONTENT, text);
    }
  }

  private void add(JsonNode message) {
    if (isSystem(message)) {
      if (!rules.mergesSystem()) {
        addSystem(laterSystem(message.path(CONTENT)));
      }
      return;
    }
    String role = message.path("role").asText();
    ObjectNode turn = messages.objectNode().put("role", role);
    if (message.path(CONTENT).isTextual()) {
      turn.set(CONTENT, message.get(CONTENT));
    } else {
      addBlocks(message.path(CONTENT), turn);
    }
    boolean left = turn.has(CONTENT) || !role.equals("user") || !VllmRule.MESSAGES_OF_RESULTS.holds(version);
    if (left) {
      messages.add(turn);
    }
  }

  private void addBlocks(JsonNode blocks, ObjectNode turn) {
    boolean ofUser = turn.path("role").asText().equals("user");
    ArrayNode parts = messages.arrayNode();
    List<String> thoughts = new ArrayList<>();
    for (JsonNode block : blocks) {
      switch (block.path("type").asText()) {
        case "text" -> addText(block.path("text").asText(""), parts);
        case "image" -> image(block.path("source"), parts);
        case "thinking" -> thoughts.add(block.path("thinking").asText(""));
        case "tool_use" -> call(block, turn.withArrayProperty("tool_calls"));
        case "tool_result" -> {
          if (ofUser) {
            result(block);
          } else {
            addText("Tool result: " + text(block.path(CONTENT)), parts);
          }
        }
        default -> {
          // Thoughts that only their author can read, and kinds that the engine leaves out.
        }
      }
    }
    if (!thoughts.isEmpty()) {
      turn.put("reasoning", String.join("", thoughts));
    }
    if (parts.size() == 1 && parts.get(0).has("text")) {
      turn.set(CONTENT, parts.get(0).get("text"));
    } else if (!parts.isEmpty()) {
      turn.set(CONTENT, parts);
    }
  }

  private static void addText(String text, ArrayNode parts) {
    if (!text.isEmpty()) {
      parts.addObject().put("type", "text").put("text", text);
    }
  }

  private static void image(JsonNode source, ArrayNode parts) {
    if (!source.isEmpty()) {
      parts.addObject().put("type", "image_url").set("image_url", source);
    }
  }

  private static void call(JsonNode block, ArrayNode calls) {
    ObjectNode call = calls.addObject();
    call.set("id", block.get("id"));
    call.put("type", "function");
    ObjectNode function = call.putObject("function");
    function.set("name", block.get("name"));
    function.put("arguments", block.hasNonNull("input") ? JsonValues.text(block.get("input")) : "{}");
  }

  /** A tool's words; then, in turns of their own, its images, which are the user's, and the tools that it names. */
  private void result(JsonNode block) {
    String id = block.path("tool_use_id").asText();
    messages.addObject().put("role", "tool").put("tool_call_id", id).put(CONTENT, text(block.path(CONTENT)));
    ArrayNode images = messages.arrayNode();
    ArrayNode tools = messages.arrayNode();
    for (JsonNode part : block.path(CONTENT)) {
      switch (part.path("type").asText()) {
        case "image" -> image(part.path("source"), images);
        case "tool_reference" -> {
          String name = part.path("tool_name").asText(part.path("name").asText(""));
          if (!name.isEmpty()) {
            tools.addObject().put("type", "tool_reference").put("name", name);
          }
        }
        default -> {
          // Texts stand before them, and other kinds are left out.
        }
      }
    }
    if (!images.isEmpty()) {
      messages.addObject().put("role", "user").set(CONTENT, images);
    }
    if (!tools.isEmpty() && VllmRule.TOOL_PARTS.holds(version)) {
      messages.addObject().put("role", "tool").put("tool_call_id", id).set(CONTENT, tools);
    }
  }

  private static String text(JsonNode content) {
    if (content.isTextual()) {
      return content.textValue();
    }
    StringBuilder text = new StringBuilder();
    boolean first = true;
    for (JsonNode part : content) {
      if (part.path("type").asText().equals("text")) {
        text.append(first ? "" : "\n").append(part.path("text").asText(""));
        first = false;
      }
    }
    return text.toString();
  }
}
