package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** The conversion of an Anthropic {@code /v1/messages} body to a chat completion, as vLLM does it. */
final class VllmMessagesBody {
  /** A system block of clients that differs in every request; engines remove it. */
  private static final String BILLING = "x-anthropic-billing-header";

  private VllmMessagesBody() {}

  static ObjectNode chat(ObjectNode body, MessagesRules rules) {
    ObjectNode chat = body.objectNode();
    ArrayNode messages = chat.putArray("messages");
    StringBuilder leading = new StringBuilder(system(body.path("system")));
    if (rules.mergesSystem()) {
      for (JsonNode message : body.path("messages")) {
        if (isSystem(message)) {
          leading.append(laterSystem(message.path("content")));
        }
      }
    }
    addSystem(leading.toString(), messages);
    for (JsonNode message : body.path("messages")) {
      if (!isSystem(message)) {
        add(message, messages);
      } else if (!rules.mergesSystem()) {
        addSystem(laterSystem(message.path("content")), messages);
      }
    }
    for (JsonNode tool : body.path("tools")) {
      ObjectNode wrapped = chat.withArrayProperty("tools").addObject().put("type", "function");
      ObjectNode function = wrapped.putObject("function");
      function.set("name", tool.get("name"));
      function.set("description", tool.get("description"));
      function.set("parameters", tool.get("input_schema"));
    }
    if (body.hasNonNull("chat_template_kwargs")) {
      chat.set("chat_template_kwargs", body.get("chat_template_kwargs"));
    }
    if (body.at("/thinking/type").asText().equals("disabled")) {
      if (rules.disabledEffort() != null) {
        chat.put("reasoning_effort", rules.disabledEffort());
      }
    } else if (body.path("output_config").hasNonNull("effort")) {
      chat.set("reasoning_effort", body.path("output_config").get("effort"));
    }
    return chat;
  }

  private static boolean isSystem(JsonNode message) {
    return message.path("role").asText().equals("system");
  }

  /** The text of a system message between others. */
  private static String laterSystem(JsonNode content) {
    return content.isTextual() && content.textValue().startsWith(BILLING) ? "" : system(content);
  }

  private static String system(JsonNode system) {
    StringBuilder text = new StringBuilder();
    if (system.isTextual()) {
      text.append(system.textValue());
    }
    for (JsonNode block : system) {
      String part = block.path("text").asText();
      if (block.path("type").asText().equals("text") && !part.startsWith(BILLING)) {
        text.append(part);
      }
    }
    return text.toString();
  }

  private static void addSystem(String text, ArrayNode messages) {
    if (!text.isEmpty()) {
      messages.addObject().put("role", "system").put("content", text);
    }
  }

  private static void add(JsonNode message, ArrayNode messages) {
    String role = message.path("role").asText();
    JsonNode content = message.path("content");
    ObjectNode turn = messages.objectNode().put("role", role);
    if (content.isTextual()) {
      messages.add(turn.set("content", content));
      return;
    }
    ArrayNode parts = messages.arrayNode();
    StringBuilder thinking = new StringBuilder();
    for (JsonNode block : content) {
      switch (block.path("type").asText()) {
        case "text" -> parts.addObject().put("type", "text").set("text", block.get("text"));
        case "thinking" -> thinking.append(block.path("thinking").asText());
        case "redacted_thinking" -> { }
        case "tool_use" -> call(block, turn.withArrayProperty("tool_calls"));
        case "tool_result" -> {
          if (role.equals("user")) {
            result(block, messages);
          } else {
            parts.addObject().put("type", "text").put("text", "Tool result: " + text(block.path("content")));
          }
        }
        default -> parts.addObject().put("type", "image_url").set("image_url", block.get("source"));
      }
    }
    if (!thinking.isEmpty()) {
      turn.put("reasoning", thinking.toString());
    }
    if (parts.size() == 1 && parts.get(0).path("type").asText().equals("text")) {
      turn.set("content", parts.get(0).path("text"));
    } else if (!parts.isEmpty()) {
      turn.set("content", parts);
    } else if (!turn.has("tool_calls")) {
      return;
    }
    messages.add(turn);
  }

  private static void call(JsonNode block, ArrayNode calls) {
    ObjectNode call = calls.addObject();
    call.set("id", block.get("id"));
    call.put("type", "function");
    ObjectNode function = call.putObject("function");
    function.set("name", block.get("name"));
    function.put("arguments", block.hasNonNull("input") ? block.get("input").toString() : "{}");
  }

  private static void result(JsonNode block, ArrayNode messages) {
    messages.addObject()
        .put("role", "tool")
        .put("tool_call_id", block.path("tool_use_id").asText())
        .put("content", text(block.path("content")));
  }

  private static String text(JsonNode content) {
    if (content.isTextual()) {
      return content.textValue();
    }
    StringBuilder text = new StringBuilder();
    for (JsonNode part : content) {
      if (part.path("type").asText().equals("text")) {
        text.append(text.isEmpty() ? "" : "\n").append(part.path("text").asText());
      }
    }
    return text.toString();
  }
}
