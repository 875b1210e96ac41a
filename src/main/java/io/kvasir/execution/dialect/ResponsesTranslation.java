package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.ByteSink;
import java.util.Locale;

/** OpenAI's {@code /v1/responses} served by a chat completion; nothing is stored. */
final class ResponsesTranslation implements Translation {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private final JsonMembers client;

  ResponsesTranslation(JsonMembers client) {
    this.client = client;
  }

  @Override
  public byte[] request() {
    ChatTurns turns = new ChatTurns();
    turns.system(client.value("instructions").asText(""));
    JsonNode input = client.value("input");
    if (input.isTextual()) {
      turns.message("user", JSON.arrayNode().add(part("text", input.textValue())), "", JSON.arrayNode());
    }
    input.forEach(item -> add(item, turns));
    JsonMembers chat = client
        .without(
            "instructions", "input", "max_output_tokens", "reasoning", "text", "tools", "tool_choice", "store",
            "include", "truncation", "metadata", "background", "previous_response_id", "max_tool_calls",
            "service_tier")
        .with("messages", turns.json())
        .withCopy("max_completion_tokens", client, "max_output_tokens");
    if (client.value("stream").asBoolean(false)) {
      chat = chat.with("stream_options", "{\"include_usage\":true}");
    }
    JsonNode effort = client.value("reasoning").path("effort");
    if (effort.isTextual()) {
      chat = chat.withText("reasoning_effort", effort.textValue());
    }
    String format = format(client.value("text").path("format"));
    if (!format.isEmpty()) {
      chat = chat.with("response_format", format);
    }
    ArrayNode tools = tools(client.value("tools"));
    if (!tools.isEmpty()) {
      chat = chat.with("tools", tools.toString());
      JsonNode choice = client.value("tool_choice");
      if (choice.isTextual()) {
        chat = chat.withText("tool_choice", choice.textValue());
      } else if (choice.path("name").isTextual()) {
        chat = chat.with(
            "tool_choice", "{\"type\":\"function\",\"function\":{\"name\":" + choice.get("name") + "}}");
      }
    }
    return chat.bytes();
  }

  private static void add(JsonNode item, ChatTurns turns) {
    switch (item.path("type").asText("message").toLowerCase(Locale.ROOT)) {
      case "function_call" -> ChatTurns.call(
          turns.lastCalls(),
          item.path("call_id").asText(),
          item.path("name").asText(),
          item.path("arguments").asText());
      case "function_call_output" -> {
        JsonNode output = item.path("output");
        turns.result(item.path("call_id").asText(), output.isTextual() ? output.textValue() : joined(output));
      }
      case "reasoning" -> turns.message(
          "assistant", JSON.arrayNode(), joined(item.path("content")), JSON.arrayNode());
      default -> {
        ArrayNode parts = JSON.arrayNode();
        JsonNode content = item.path("content");
        if (content.isTextual()) {
          ChatTurns.text(parts, content.textValue());
        }
        content.forEach(part -> addPart(part, parts));
        turns.message(item.path("role").asText("user"), parts, "", JSON.arrayNode());
      }
    }
  }

  private static void addPart(JsonNode part, ArrayNode parts) {
    switch (part.path("type").asText()) {
      case "input_text", "output_text", "text" -> ChatTurns.text(parts, part.path("text").asText());
      case "refusal" -> ChatTurns.text(parts, part.path("refusal").asText());
      case "input_image" -> {
        ChatTurns.image(parts, part.path("image_url").asText());
        if (part.hasNonNull("detail")) {
          ((ObjectNode) parts.get(parts.size() - 1).get("image_url")).set("detail", part.get("detail"));
        }
      }
      default -> parts.add(part);
    }
  }

  private static String joined(JsonNode parts) {
    StringBuilder text = new StringBuilder();
    parts.forEach(part -> text.append(part.path("text").asText()));
    return text.toString();
  }

  private static ObjectNode part(String type, String text) {
    return JSON.objectNode().put("type", type).put("text", text);
  }

  private static String format(JsonNode format) {
    return switch (format.path("type").asText("")) {
      case "json_schema" -> {
        ObjectNode schema = JSON.objectNode();
        for (String name : new String[] {"name", "description", "schema", "strict"}) {
          if (format.has(name)) {
            schema.set(name, format.get(name));
          }
        }
        ObjectNode wrapped = JSON.objectNode().put("type", "json_schema");
        wrapped.set("json_schema", schema);
        yield wrapped.toString();
      }
      case "json_object" -> "{\"type\":\"json_object\"}";
      default -> "";
    };
  }

  private static ArrayNode tools(JsonNode given) {
    ArrayNode tools = JSON.arrayNode();
    for (JsonNode tool : given) {
      if (tool instanceof ObjectNode function) {
        ObjectNode inner = function.deepCopy();
        inner.remove("type");
        tools.addObject().put("type", "function").set("function", inner);
      }
    }
    return tools;
  }

  @Override
  public byte[] whole(byte[] answer) {
    JsonNode chat = ChatAnswer.read(answer);
    JsonNode choice = chat.path("choices").path(0);
    JsonNode message = choice.path("message");
    ResponseObject response = new ResponseObject(client, chat);
    String thinking = ChatAnswer.reasoning(message);
    if (!thinking.isEmpty()) {
      response.add(response.reasoning(thinking));
    }
    String text = message.path("content").asText("");
    if (!text.isEmpty() || !message.hasNonNull("tool_calls")) {
      response.add(response.message(text, "completed"));
    }
    for (JsonNode call : message.path("tool_calls")) {
      JsonNode function = call.path("function");
      response.add(response.call(
          call.path("id").asText(),
          function.path("name").asText(),
          function.path("arguments").asText(),
          "completed"));
    }
    response.finish(choice.path("finish_reason").asText("stop"));
    response.count(chat.path("usage"));
    return ChatAnswer.bytes(response.json());
  }

  @Override
  public byte[] error(int status, byte[] answer) {
    ObjectNode error = JSON.objectNode();
    error.putObject("error")
        .put("message", ChatAnswer.message(status, answer))
        .put("type", status >= 500 ? "server_error" : "invalid_request_error")
        .putNull("param")
        .put("code", status);
    return ChatAnswer.bytes(error);
  }

  @Override
  public Stream stream(ByteSink out) {
    return new ResponsesStream(client, out);
  }
}
