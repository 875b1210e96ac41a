package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Locale;

/**
 * A {@code /v1/responses} body as the chat completion that the router makes of it for engines that divide prefill and
 * decode, but take no responses then.
 */
final class TranslatedResponsesBody {
  private TranslatedResponsesBody() {}

  static ObjectNode chat(ObjectNode body) {
    ObjectNode chat = body.objectNode();
    ArrayNode messages = chat.putArray("messages");
    if (body.path("instructions").isTextual()) {
      messages.addObject().put("role", "system").set("content", body.get("instructions"));
    }
    JsonNode input = body.path("input");
    if (input.isTextual()) {
      messages.addObject().put("role", "user").set("content", input);
    }
    for (JsonNode item : input) {
      add(messages, item);
    }
    tools(body, chat);
    if (body.hasNonNull("chat_template_kwargs")) {
      chat.set("chat_template_kwargs", body.get("chat_template_kwargs"));
    }
    if (body.path("reasoning").hasNonNull("effort")) {
      chat.set("reasoning_effort", body.path("reasoning").get("effort"));
    }
    return chat;
  }

  private static void add(ArrayNode messages, JsonNode item) {
    switch (item.path("type").asText("message").toLowerCase(Locale.ROOT)) {
      case "function_call" -> {
        ObjectNode call = toolCalls(messages).addObject();
        call.set("id", item.get("call_id"));
        call.put("type", "function");
        ObjectNode function = call.putObject("function");
        function.set("name", item.get("name"));
        function.set("arguments", item.get("arguments"));
      }
      case "function_call_output" -> {
        ObjectNode output = messages.addObject().put("role", "tool");
        output.set("content", item.get("output"));
        output.set("tool_call_id", item.get("call_id"));
      }
      case "reasoning" -> {
        StringBuilder text = new StringBuilder();
        item.path("content").forEach(part -> text.append(part.path("text").asText()));
        if (!text.isEmpty()) {
          messages.addObject().put("role", "assistant").put("reasoning", text.toString());
        }
      }
      default -> {
        if (item.isObject()) {
          ObjectNode message = messages.addObject();
          message.set("role", item.get("role"));
          message.set("content", item.get("content"));
        }
      }
    }
  }

  /** The tool calls of the assistant's current turn, which also has the reasoning before them. */
  private static ArrayNode toolCalls(ArrayNode messages) {
    JsonNode last = messages.isEmpty() ? messages : messages.get(messages.size() - 1);
    if (last instanceof ObjectNode turn && turn.path("role").asText().equals("assistant") && !turn.has("content")) {
      return turn.withArrayProperty("tool_calls");
    }
    return messages.addObject().put("role", "assistant").putArray("tool_calls");
  }

  private static void tools(ObjectNode body, ObjectNode chat) {
    if (body.path("tool_choice").asText().equals("none")) {
      return;
    }
    for (JsonNode tool : body.path("tools")) {
      if (tool.path("type").asText().equals("function")) {
        ObjectNode wrapped = chat.withArrayProperty("tools").addObject().put("type", "function");
        wrapped.set("function", tool);
      }
    }
  }
}
