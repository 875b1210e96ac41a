package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;

/** A response under construction, as OpenAI's Responses API has it. Not thread-safe. */
final class ResponseObject {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  /** What a response repeats of its request, and its defaults. */
  private static final String[][] REPEATED = {
    {"instructions", "null"}, {"max_output_tokens", "null"}, {"metadata", "{}"}, {"parallel_tool_calls", "true"},
    {"previous_response_id", "null"}, {"reasoning", "null"}, {"temperature", "1.0"}, {"text", "null"},
    {"tool_choice", "\"auto\""}, {"tools", "[]"}, {"top_p", "1.0"}, {"truncation", "\"disabled\""}, {"user", "null"}
  };

  private final String suffix;
  private final ObjectNode json;
  private final ArrayNode output;

  /** A response in progress, made of a chat's answer or of the first chunk of one. */
  ResponseObject(JsonMembers client, JsonNode chat) {
    String id = chat.path("id").asText("");
    suffix = id.startsWith("chatcmpl-") ? id.substring("chatcmpl-".length()) : id;
    json = JSON.objectNode()
        .put("id", "resp_" + suffix)
        .put("object", "response")
        .put("created_at", chat.path("created").asLong(0))
        .put("status", "in_progress")
        .put("background", false);
    json.putNull("error").putNull("incomplete_details");
    json.put("model", chat.path("model").asText());
    output = json.putArray("output");
    for (String[] member : REPEATED) {
      JsonNode own = client.value(member[0]);
      byte[] otherwise = member[1].getBytes(StandardCharsets.UTF_8);
      json.set(member[0], own.isMissingNode() ? ChatAnswer.read(otherwise) : own);
    }
    json.putNull("usage");
  }

  ObjectNode json() {
    return json;
  }

  /** How many items there are. */
  int items() {
    return output.size();
  }

  void add(ObjectNode item) {
    output.add(item);
  }

  /** The model's thoughts. */
  ObjectNode reasoning(String text) {
    ObjectNode item = JSON.objectNode().put("id", itemId("rs_")).put("type", "reasoning");
    item.putArray("summary");
    item.putArray("content").addObject().put("type", "reasoning_text").put("text", text);
    return item;
  }

  /** A message with one text. */
  ObjectNode message(String text, String status) {
    ObjectNode item = JSON.objectNode()
        .put("id", itemId("msg_"))
        .put("type", "message")
        .put("role", "assistant")
        .put("status", status);
    ArrayNode content = item.putArray("content");
    if (status.equals("completed")) {
      content.add(textPart(text));
    }
    return item;
  }

  static ObjectNode textPart(String text) {
    ObjectNode part = JSON.objectNode().put("type", "output_text").put("text", text);
    part.putArray("annotations");
    part.putArray("logprobs");
    return part;
  }

  /** A call of a function. */
  ObjectNode call(String callId, String name, String arguments, String status) {
    return JSON.objectNode()
        .put("id", itemId("fc_"))
        .put("type", "function_call")
        .put("call_id", callId)
        .put("name", name)
        .put("arguments", arguments)
        .put("status", status);
  }

  /** The chat's reason to end. */
  void finish(String reason) {
    boolean cut = reason.equals("length") || reason.equals("content_filter");
    json.put("status", cut ? "incomplete" : "completed");
    if (cut) {
      json.putObject("incomplete_details")
          .put("reason", reason.equals("length") ? "max_output_tokens" : "content_filter");
    }
  }

  void count(JsonNode usage) {
    int prompt = usage.path("prompt_tokens").asInt(0);
    int completion = usage.path("completion_tokens").asInt(0);
    ObjectNode counts = json.putObject("usage").put("input_tokens", prompt);
    counts.putObject("input_tokens_details").put("cached_tokens", ChatAnswer.cached(usage));
    counts.put("output_tokens", completion);
    int reasoning = usage.path("completion_tokens_details").path("reasoning_tokens").asInt(0);
    counts.putObject("output_tokens_details").put("reasoning_tokens", reasoning);
    counts.put("total_tokens", prompt + completion);
  }

  private String itemId(String kind) {
    return kind + suffix + "_" + output.size();
  }
}
