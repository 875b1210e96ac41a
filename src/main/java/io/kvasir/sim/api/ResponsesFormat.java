package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.core.GeneratedSequence;
import io.kvasir.sim.core.ResponseFormat;
import io.kvasir.sim.core.Usage;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** {@code /v1/responses}: typed events with a sequence number, and no end marker, as vLLM serves them. */
final class ResponsesFormat implements ResponseFormat {
  private final String id;
  private final String item;
  private final String model;
  private final long created;
  private final JsonNode instructions;
  private final int maxOutputTokens;
  private final StringBuilder output = new StringBuilder();
  private GeneratedSequence.FinishReason finish = GeneratedSequence.FinishReason.STOP;
  private int sequence;

  /** The format of one answer; its item's id is made of its own {@code id}. */
  ResponsesFormat(String id, String model, long created, JsonNode instructions, int maxOutputTokens) {
    this.id = id;
    this.item = "msg_" + id.replaceFirst("^resp_", "");
    this.model = model;
    this.created = created;
    this.instructions = instructions;
    this.maxOutputTokens = maxOutputTokens;
  }

  @Override
  public void begin(StringBuilder out) {
    ObjectNode created = event("response.created");
    created.set("response", response("in_progress", null, null));
    ResponseFormat.append(out, created);
    ObjectNode progress = event("response.in_progress");
    progress.set("response", response("in_progress", null, null));
    ResponseFormat.append(out, progress);
    ObjectNode added = event("response.output_item.added").put("output_index", 0);
    added.set("item", message("in_progress", null));
    ResponseFormat.append(out, added);
    ObjectNode part = inItem("response.content_part.added");
    part.set("part", text(""));
    ResponseFormat.append(out, part);
  }

  @Override
  public void delta(
      StringBuilder out,
      int choice,
      String text,
      int @Nullable [] tokens,
      GeneratedSequence.@Nullable FinishReason end,
      @Nullable Usage usage) {
    if (end != null) {
      finish = end;
    }
    if (!text.isEmpty()) {
      output.append(text);
      ObjectNode delta = inItem("response.output_text.delta").put("delta", text);
      delta.putArray("logprobs");
      ResponseFormat.append(out, delta);
    }
  }

  @Override
  public void end(StringBuilder out, Usage usage) {
    String all = output.toString();
    ObjectNode done = inItem("response.output_text.done").put("text", all);
    done.putArray("logprobs");
    ResponseFormat.append(out, done);
    ObjectNode part = inItem("response.content_part.done");
    part.set("part", text(all));
    ResponseFormat.append(out, part);
    ObjectNode itemDone = event("response.output_item.done").put("output_index", 0);
    itemDone.set("item", message("completed", all));
    ResponseFormat.append(out, itemDone);
    ObjectNode completed = event("response.completed");
    completed.set("response", response(status(finish), all, usage));
    ResponseFormat.append(out, completed);
  }

  @Override
  public JsonNode body(List<Choice> choices, Usage usage) {
    finish = choices.getFirst().finish();
    return response(status(finish), choices.getFirst().text(), usage);
  }

  private static String status(GeneratedSequence.FinishReason finish) {
    return finish == GeneratedSequence.FinishReason.LENGTH ? "incomplete" : "completed";
  }

  private ObjectNode response(String status, @Nullable String text, @Nullable Usage usage) {
    ObjectNode response = JsonNodeFactory.instance.objectNode();
    response.put("id", id).put("created_at", created);
    if (status.equals("incomplete")) {
      response.putObject("incomplete_details").put("reason", "max_output_tokens");
    } else {
      response.putNull("incomplete_details");
    }
    response.set("instructions", instructions);
    response.putNull("metadata");
    response.put("model", model).put("object", "response");
    if (text == null) {
      response.putArray("output");
    } else {
      response.putArray("output").add(message("completed", text));
    }
    response.put("parallel_tool_calls", true).put("temperature", 1.0).put("tool_choice", "auto");
    response.putArray("tools");
    response.put("top_p", 1.0).put("background", false).put("max_output_tokens", maxOutputTokens);
    response.putNull("max_tool_calls").putNull("previous_response_id").putNull("prompt").putNull("reasoning");
    response.put("service_tier", "auto").put("status", status);
    response.putNull("text").putNull("top_logprobs");
    response.put("truncation", "disabled");
    if (usage == null) {
      response.putNull("usage");
    } else {
      response.set("usage", usage(usage));
    }
    response.putNull("user");
    return response;
  }

  private ObjectNode message(String status, @Nullable String text) {
    ObjectNode message = JsonNodeFactory.instance.objectNode();
    message.put("id", item);
    if (text == null) {
      message.putArray("content");
    } else {
      message.putArray("content").add(text(text));
    }
    return message.put("role", "assistant").put("status", status).put("type", "message");
  }

  private static ObjectNode text(String text) {
    ObjectNode part = JsonNodeFactory.instance.objectNode();
    part.putArray("annotations");
    part.put("text", text).put("type", "output_text");
    part.putArray("logprobs");
    return part;
  }

  private static ObjectNode usage(Usage usage) {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    json.put("input_tokens", usage.prompt());
    Integer cached = usage.cached();
    json.putObject("input_tokens_details").put("cached_tokens", cached == null ? 0 : cached);
    json.put("output_tokens", usage.completion());
    json.putObject("output_tokens_details").put("reasoning_tokens", 0);
    return json.put("total_tokens", usage.prompt() + usage.completion());
  }

  private ObjectNode inItem(String type) {
    return event(type).put("item_id", item).put("output_index", 0).put("content_index", 0);
  }

  private ObjectNode event(String type) {
    return JsonNodeFactory.instance.objectNode().put("type", type).put("sequence_number", sequence++);
  }
}
