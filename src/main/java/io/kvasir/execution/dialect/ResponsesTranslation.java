package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.ByteSink;
import java.util.Set;

/** OpenAI's {@code /v1/responses} served by a chat completion; nothing is stored. */
final class ResponsesTranslation implements Translation {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  /** What a chat has not, or has from the conversation; other members pass as they came. */
  private static final Set<String> OWN = Set.of(
      "instructions", "input", "max_output_tokens", "reasoning", "text", "tools", "tool_choice", "store", "include",
      "truncation", "metadata", "background", "previous_response_id", "conversation", "max_tool_calls", "service_tier",
      "chat_template_kwargs", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "top_logprobs",
      "stream_options");

  private final JsonMembers client;
  private final ChatMembers conversation;

  /**
   * A translation of a request.
   *
   * @param conversation the members of a chat completion that have the request's conversation
   */
  ResponsesTranslation(JsonMembers client, ObjectNode conversation) {
    this.client = client;
    this.conversation = new ChatMembers(conversation);
  }

  @Override
  public JsonMembers request() {
    JsonMembers chat = conversation.in(client.without(OWN::contains))
        .withCopy("max_completion_tokens", client, "max_output_tokens");
    if (client.value("stream").asBoolean(false)) {
      chat = chat.with("stream_options", "{\"include_usage\":true}");
    }
    String format = format(client.value("text").path("format"));
    if (!format.isEmpty()) {
      chat = chat.with("response_format", format);
    }
    JsonNode choice = client.value("tool_choice");
    if (conversation.has("tools") && choice.isTextual()) {
      chat = chat.withText("tool_choice", choice.textValue());
    } else if (conversation.has("tools") && choice.path("name").isTextual()) {
      chat = chat.with("tool_choice", ChatMembers.choiceOf(choice.get("name")));
    }
    return chat;
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
    if (!text.isEmpty() || message.path("tool_calls").isEmpty()) {
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
