package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** The messages of a chat under construction, as OpenAI's chat API has them. Not thread-safe. */
final class ChatTurns {
  private final ArrayNode messages = JsonNodeFactory.instance.arrayNode();

  void system(String text) {
    if (!text.isEmpty()) {
      messages.addObject().put("role", "system").put("content", text);
    }
  }

  /** A message with parts, which are one text where they are only that. */
  void message(String role, ArrayNode parts, String reasoning, ArrayNode calls) {
    if (parts.isEmpty() && reasoning.isEmpty() && calls.isEmpty()) {
      return;
    }
    ObjectNode turn = messages.addObject().put("role", role);
    if (!reasoning.isEmpty()) {
      // vLLM 0.16 to 0.21 know the first name alone, SGLang the second.
      turn.put("reasoning", reasoning).put("reasoning_content", reasoning);
    }
    if (parts.size() == 1 && parts.get(0).path("type").asText().equals("text")) {
      turn.set("content", parts.get(0).get("text"));
    } else if (parts.isEmpty()) {
      turn.putNull("content");
    } else {
      turn.set("content", parts);
    }
    if (!calls.isEmpty()) {
      turn.set("tool_calls", calls);
    }
  }

  void result(String callId, String text) {
    messages.addObject().put("role", "tool").put("tool_call_id", callId).put("content", text);
  }

  /** The tool calls of the last turn if it is the assistant's, so that calls listed one by one are one turn. */
  ArrayNode lastCalls() {
    JsonNode last = messages.isEmpty() ? messages : messages.get(messages.size() - 1);
    if (last instanceof ObjectNode turn && turn.path("role").asText().equals("assistant")) {
      return turn.withArrayProperty("tool_calls");
    }
    return messages.addObject().put("role", "assistant").putNull("content").withArrayProperty("tool_calls");
  }

  static void call(ArrayNode calls, String id, String name, String arguments) {
    ObjectNode call = calls.addObject().put("id", id).put("type", "function");
    call.putObject("function").put("name", name).put("arguments", arguments);
  }

  static void image(ArrayNode parts, String url) {
    parts.addObject().put("type", "image_url").putObject("image_url").put("url", url);
  }

  static void text(ArrayNode parts, String text) {
    parts.addObject().put("type", "text").put("text", text);
  }

  String json() {
    return messages.toString();
  }
}
