package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.execution.dialect.MessageObject.Calls;
import io.kvasir.http.ByteSink;
import java.util.Set;

/**
 * Anthropic's {@code /v1/messages} served by a chat completion. The conversation is what the engine would make of it
 * ({@link ChatConversion}); the answer is as vLLM words it.
 *
 * <p>Source: vLLM {@code entrypoints/anthropic/serving.py}.
 */
public final class MessagesTranslation implements Translation {
  /** What a chat has not, or has from the conversation; other members pass as they came. */
  private static final Set<String> OWN = Set.of(
      "messages", "system", "stop_sequences", "tool_choice", "tools", "metadata", "thinking", "output_config",
      "chat_template_kwargs", "reasoning_effort", "thinking_token_budget", "betas", "container", "context_management",
      "mcp_servers", "service_tier", "inference_geo", "cache_control");

  private final JsonMembers client;
  private final ChatMembers conversation;

  /**
   * A translation of a request.
   *
   * @param conversation the members of a chat completion that have the request's conversation
   */
  public MessagesTranslation(JsonMembers client, ObjectNode conversation) {
    this.client = client;
    this.conversation = new ChatMembers(conversation);
  }

  @Override
  public JsonMembers request() {
    JsonMembers chat = conversation.in(client.without(OWN::contains))
        .withCopy("stop", client, "stop_sequences");
    if (client.value("stream").asBoolean(false)) {
      // The first event of a message has the usage of its prompt.
      chat = chat.with("stream_options", "{\"include_usage\":true,\"continuous_usage_stats\":true}");
    }
    JsonNode choice = client.value("tool_choice");
    if (conversation.has("tools") && !conversation.has("tool_choice")) {
      String chosen = choice(choice);
      chat = chosen.isEmpty() ? chat : chat.with("tool_choice", chosen);
    }
    if (choice.path("disable_parallel_tool_use").asBoolean(false)) {
      chat = chat.with("parallel_tool_calls", "false");
    }
    JsonNode schema = client.value("output_config").path("format").path("schema");
    return schema.isObject() ? chat.with("response_format", format(schema)) : chat;
  }

  private static String choice(JsonNode choice) {
    return switch (choice.path("type").asText("")) {
      case "auto" -> "\"auto\"";
      case "any" -> "\"required\"";
      case "none" -> "\"none\"";
      case "tool" -> ChatMembers.choiceOf(choice.path("name"));
      default -> "";
    };
  }

  private static String format(JsonNode schema) {
    ObjectNode format = JsonNodeFactory.instance.objectNode().put("type", "json_schema");
    format.putObject("json_schema").put("name", "response").put("strict", true).set("schema", schema);
    return format.toString();
  }

  @Override
  public byte[] whole(byte[] answer) {
    JsonNode chat = ChatAnswer.read(answer);
    JsonNode choice = chat.path("choices").path(0);
    JsonNode calls = choice.path("message").path("tool_calls");
    ObjectNode message = MessageObject.of(chat);
    message.set("content", MessageObject.content(chat, choice.path("message")));
    String lastArguments = calls.path(calls.size() - 1).path("function").path("arguments").asText("");
    MessageObject.stop(message, choice, calls.isEmpty() ? Calls.NONE : Calls.of(lastArguments));
    message.set("usage", MessageObject.usage(chat.path("usage")));
    return ChatAnswer.bytes(message);
  }

  @Override
  public byte[] error(int status, byte[] answer) {
    return ChatAnswer.bytes(MessageObject.error(errorType(status), ChatAnswer.message(status, answer)));
  }

  /** Anthropic's name for the kind of an error. */
  public static String errorType(int status) {
    return switch (status) {
      case 401 -> "authentication_error";
      case 402 -> "billing_error";
      case 403 -> "permission_error";
      case 404 -> "not_found_error";
      case 413 -> "request_too_large";
      case 429 -> "rate_limit_error";
      case 503, 529 -> "overloaded_error";
      case 504 -> "timeout_error";
      default -> status < 500 ? "invalid_request_error" : "api_error";
    };
  }

  @Override
  public Stream stream(ByteSink into) {
    return new MessagesStream(into);
  }

  /**
   * A translation of a chat that goes on from the text of a message whose events the client has.
   *
   * @param block the number of the text's block, which is open
   */
  public static Stream rest(ByteSink client, int block) {
    return new MessagesStream(client, block);
  }
}
