package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Locale;

/**
 * The conversation of a {@code /v1/responses} body in the chat completion that the router makes of it for engines that
 * divide prefill and decode, but take no responses then.
 */
final class TranslatedResponsesBody {
  private static final String CONTENT = "content";

  private final ArrayNode messages = JsonNodeFactory.instance.arrayNode();

  private TranslatedResponsesBody() {}

  static ObjectNode chat(ObjectNode body) {
    TranslatedResponsesBody conversation = new TranslatedResponsesBody();
    conversation.addAll(body);
    ObjectNode chat = body.objectNode();
    chat.set("messages", conversation.messages);
    tools(body, chat);
    if (body.hasNonNull("chat_template_kwargs")) {
      chat.set("chat_template_kwargs", body.get("chat_template_kwargs"));
    }
    if (body.path("reasoning").hasNonNull("effort")) {
      chat.set("reasoning_effort", body.path("reasoning").get("effort"));
    }
    return chat;
  }

  private void addAll(ObjectNode body) {
    if (!body.path("instructions").asText("").isEmpty()) {
      messages.addObject().put("role", "system").set(CONTENT, body.get("instructions"));
    }
    JsonNode input = body.path("input");
    if (input.isTextual()) {
      messages.addObject().put("role", "user").set(CONTENT, input);
    }
    input.forEach(this::add);
  }

  private void add(JsonNode item) {
    switch (item.path("type").asText("message").toLowerCase(Locale.ROOT)) {
      case "function_call" -> {
        ObjectNode call = calls().addObject();
        call.set("id", item.get("call_id"));
        call.put("type", "function");
        ObjectNode function = call.putObject("function");
        function.set("name", item.get("name"));
        function.set("arguments", item.get("arguments"));
      }
      case "function_call_output" -> {
        JsonNode output = item.path("output");
        messages.addObject().put("role", "tool").put("tool_call_id", item.path("call_id").asText())
            .put(CONTENT, output.isTextual() ? output.textValue() : joined(output));
      }
      case "reasoning" -> {
        String thoughts = joined(item.path(CONTENT));
        if (!thoughts.isEmpty()) {
          messages.addObject().put("role", "assistant").put("reasoning", thoughts);
        }
      }
      default -> {
        if (item.isObject()) {
          messages.addObject().put("role", item.path("role").asText("user")).set(CONTENT, content(item.path(CONTENT)));
        }
      }
    }
  }

  private JsonNode content(JsonNode given) {
    if (!given.isArray()) {
      return given.isMissingNode() ? messages.textNode("") : given;
    }
    ArrayNode parts = messages.arrayNode();
    given.forEach(part -> parts.add(part(part)));
    return parts.size() == 1 && parts.get(0).has("text") ? parts.get(0).get("text") : parts;
  }

  private JsonNode part(JsonNode part) {
    return switch (part.path("type").asText()) {
      case "input_text", "output_text", "text" -> text(part.path("text"));
      case "refusal" -> text(part.path("refusal"));
      case "input_image" -> {
        ObjectNode image = messages.objectNode().put("type", "image_url");
        ObjectNode url = image.putObject("image_url").put("url", part.path("image_url").asText());
        if (part.hasNonNull("detail")) {
          url.set("detail", part.get("detail"));
        }
        yield image;
      }
      default -> part;
    };
  }

  private ObjectNode text(JsonNode text) {
    return messages.objectNode().put("type", "text").put("text", text.asText());
  }

  private static String joined(JsonNode parts) {
    StringBuilder text = new StringBuilder();
    parts.forEach(part -> text.append(part.path("text").asText()));
    return text.toString();
  }

  /** The tool calls of the assistant's current turn, which also has the thoughts before them. */
  private ArrayNode calls() {
    JsonNode last = messages.isEmpty() ? messages : messages.get(messages.size() - 1);
    if (last instanceof ObjectNode turn && turn.path("role").asText().equals("assistant")) {
      return turn.withArrayProperty("tool_calls");
    }
    return messages.addObject().put("role", "assistant").putArray("tool_calls");
  }

  private static void tools(ObjectNode body, ObjectNode chat) {
    if (body.path("tool_choice").asText().equals("none")) {
      return;
    }
    for (JsonNode tool : body.path("tools")) {
      if (tool.path("type").asText().equals("function") && tool instanceof ObjectNode function) {
        ObjectNode wrapped = chat.withArrayProperty("tools").addObject().put("type", "function");
        wrapped.set("function", function.deepCopy().without("type"));
      }
    }
  }
}
