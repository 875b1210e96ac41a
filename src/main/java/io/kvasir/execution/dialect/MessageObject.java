package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.UUID;

/** The parts of an answer in Anthropic's Messages API, made of a chat's. */
final class MessageObject {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private MessageObject() {}

  /** A message without content, of a chat's answer or of the first chunk of one. */
  static ObjectNode of(JsonNode chat) {
    return JSON.objectNode()
        .put("id", chat.path("id").asText())
        .put("type", "message")
        .put("role", "assistant")
        .put("model", chat.path("model").asText());
  }

  /** The blocks of a whole answer; one without words where it has nothing, as clients expect at least one. */
  static ArrayNode content(JsonNode chat, JsonNode message) {
    ArrayNode content = JSON.arrayNode();
    String thinking = ChatAnswer.reasoning(message);
    if (!thinking.isEmpty()) {
      content.addObject().put("type", "thinking").put("thinking", thinking)
          .put("signature", signature(chat.path("id").asText(), 0));
    }
    String text = message.path("content").asText("");
    JsonNode calls = message.path("tool_calls");
    if (!text.isEmpty() || (calls.isEmpty() && content.isEmpty())) {
      content.addObject().put("type", "text").put("text", text);
    }
    for (JsonNode call : calls) {
      JsonNode function = call.path("function");
      ObjectNode use = content.addObject().put("type", "tool_use");
      use.put("id", call.path("id").asText()).put("name", function.path("name").asText());
      use.set("input", ChatAnswer.arguments(function.path("arguments").asText("")));
    }
    return content;
  }

  /**
   * The signature of a block of thoughts. Nobody checks it, but clients keep thoughts that have one only.
   *
   * @param id the message's
   * @param block the number of the block in it
   */
  static String signature(String id, int block) {
    return UUID.nameUUIDFromBytes((id + "#" + block).getBytes(StandardCharsets.UTF_8)).toString().replace("-", "");
  }

  /** What an answer has of the calls of tools. */
  enum Calls {
    NONE,
    /** The last one was cut. */
    CUT,
    WHOLE;

    /** Those of which the last one has such arguments. */
    static Calls of(String arguments) {
      return ChatAnswer.read(arguments.getBytes(StandardCharsets.UTF_8)).isMissingNode() ? CUT : WHOLE;
    }
  }

  /**
   * Why an answer ended. A chat that had to call a tool ends as any text does; a call that a stop text has cut must not
   * be carried out. Engines report which stop text ended an answer: SGLang in {@code matched_stop}, vLLM in {@code
   * stop_reason}.
   *
   * @param choice the chat's choice, or the chunk that ends it
   */
  static void stop(ObjectNode into, JsonNode choice, Calls calls) {
    JsonNode matched = choice.path("matched_stop");
    JsonNode stop = matched.isTextual() ? matched : choice.path("stop_reason");
    String finish = choice.path("finish_reason").asText("stop");
    String reason = finish.equals("length") ? "max_tokens"
        : finish.equals("content_filter") ? "refusal"
        : calls != Calls.WHOLE && stop.isTextual() ? "stop_sequence"
        : calls != Calls.NONE || finish.equals("tool_calls") ? "tool_use"
        : "end_turn";
    into.put("stop_reason", reason);
    into.put("stop_sequence", reason.equals("stop_sequence") ? stop.textValue() : null);
  }

  /** As Anthropic counts: what came from the cache, and what was written to one, stand apart where engines say it. */
  static ObjectNode usage(JsonNode usage) {
    JsonNode details = usage.path("prompt_tokens_details");
    JsonNode read = details.path("cached_tokens");
    JsonNode written = details.path("created_cache_tokens");
    ObjectNode out = JSON.objectNode()
        .put("input_tokens", Math.max(0, usage.path("prompt_tokens").asInt(0) - read.asInt(0) - written.asInt(0)));
    if (read.isNumber()) {
      out.set("cache_read_input_tokens", read);
    }
    if (written.isNumber()) {
      out.set("cache_creation_input_tokens", written);
    }
    return out.put("output_tokens", usage.path("completion_tokens").asInt(0));
  }

  static ObjectNode error(String type, String message) {
    ObjectNode error = JSON.objectNode().put("type", "error");
    error.putObject("error").put("type", type).put("message", message);
    return error;
  }
}
