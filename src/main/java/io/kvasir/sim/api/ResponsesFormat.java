package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
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
  private final String model;
  private final long created;
  private final ObjectNode request;
  private final int maxOutputTokens;
  private final @Nullable LogprobsJson logprobs;
  private final String item;
  private final StringBuilder output = new StringBuilder();
  private final ArrayNode logprobsSoFar = JsonNodeFactory.instance.arrayNode();
  private @Nullable ObjectNode call;
  private boolean opened;
  private End end = End.of(GeneratedSequence.FinishReason.STOP);
  private int place;
  private int sequence;

  /**
   * The format of one answer; its item's id is made of its own {@code id}.
   *
   * @param request whose settings the answer repeats
   * @param logprobs of the answer's tokens, or null
   */
  ResponsesFormat(String id, String model, long created, ObjectNode request, int maxOutputTokens,
      @Nullable LogprobsJson logprobs) {
    this.id = id;
    this.model = model;
    this.created = created;
    this.request = request;
    this.maxOutputTokens = maxOutputTokens;
    this.logprobs = logprobs;
    this.item = "msg_" + id.replaceFirst("^resp_", "");
  }

  @Override
  public void begin(StringBuilder out) {
    for (String type : List.of("response.created", "response.in_progress")) {
      ObjectNode event = event(type);
      event.set("response", response("in_progress", null, null));
      ResponseFormat.append(out, event);
    }
  }

  @Override
  public void delta(StringBuilder out, int choice, Delta delta) {
    End ended = delta.end();
    end = ended == null ? end : ended;
    CallPart part = delta.call();
    if (part != null) {
      callPart(out, part);
      return;
    }
    ArrayNode values = JsonNodeFactory.instance.arrayNode();
    int[] tokens = delta.tokens();
    if (logprobs != null && tokens != null) {
      values = logprobs.content(tokens, place);
      place += tokens.length;
      logprobsSoFar.addAll(values);
    }
    if (!delta.text().isEmpty()) {
      open(out);
      output.append(delta.text());
      ObjectNode event = inItem("response.output_text.delta").put("delta", delta.text());
      event.set("logprobs", values);
      ResponseFormat.append(out, event);
    }
  }

  private void open(StringBuilder out) {
    if (opened) {
      return;
    }
    opened = true;
    ObjectNode added = event("response.output_item.added").put("output_index", 0);
    added.set("item", message("in_progress", null));
    ResponseFormat.append(out, added);
    ObjectNode part = inItem("response.content_part.added");
    part.set("part", text("", JsonNodeFactory.instance.arrayNode()));
    ResponseFormat.append(out, part);
  }

  private void callPart(StringBuilder out, CallPart part) {
    if (part.name() != null) {
      call = callItem(part.name(), "", "in_progress");
      ObjectNode added = event("response.output_item.added").put("output_index", 0);
      added.set("item", call);
      ResponseFormat.append(out, added);
    }
    if (call != null && !part.arguments().isEmpty()) {
      output.append(part.arguments());
      ResponseFormat.append(out, ofCall("response.function_call_arguments.delta", call)
          .put("delta", part.arguments()));
    }
  }

  @Override
  public void end(StringBuilder out, Usage usage) {
    ArrayNode items = JsonNodeFactory.instance.arrayNode();
    String all = output.toString();
    if (call != null) {
      ObjectNode done = call.deepCopy().put("arguments", all).put("status", "completed");
      items.add(done);
      ResponseFormat.append(out, ofCall("response.function_call_arguments.done", call)
          .put("arguments", all).put("name", call.path("name").asText()));
      ResponseFormat.append(
          out, event("response.output_item.done").put("output_index", 0).<ObjectNode>set("item", done));
    } else if (opened) {
      items.add(message("completed", all));
      endText(out, all);
    }
    ObjectNode completed = event("response.completed");
    completed.set("response", response(status(), items, usage));
    ResponseFormat.append(out, completed);
  }

  private void endText(StringBuilder out, String all) {
    ObjectNode done = inItem("response.output_text.done").put("text", all);
    done.putArray("logprobs");
    ResponseFormat.append(out, done);
    ObjectNode part = inItem("response.content_part.done");
    part.set("part", text(all, logprobsSoFar));
    ResponseFormat.append(out, part);
    ObjectNode itemDone = event("response.output_item.done").put("output_index", 0);
    itemDone.set("item", message("completed", all));
    ResponseFormat.append(out, itemDone);
  }

  @Override
  public JsonNode body(List<Choice> choices, Usage usage) {
    Choice choice = choices.getFirst();
    end = choice.end();
    ArrayNode items = JsonNodeFactory.instance.arrayNode();
    Call whole = choice.call();
    if (whole != null) {
      items.add(callItem(whole.name(), whole.arguments(), "completed"));
    } else if (!choice.text().isEmpty()) {
      if (logprobs != null) {
        logprobsSoFar.addAll(logprobs.content(choice.tokens(), 0));
      }
      items.add(message("completed", choice.text()));
    }
    return response(status(), items, usage);
  }

  private String status() {
    return end.reason() == GeneratedSequence.FinishReason.LENGTH ? "incomplete" : "completed";
  }

  private ObjectNode response(String status, @Nullable ArrayNode output, @Nullable Usage usage) {
    ObjectNode response = JsonNodeFactory.instance.objectNode();
    response.put("id", id).put("created_at", created);
    if (status.equals("incomplete")) {
      response.putObject("incomplete_details").put("reason", "max_output_tokens");
    } else {
      response.putNull("incomplete_details");
    }
    repeat(response, "instructions", JsonNodeFactory.instance.nullNode());
    repeat(response, "metadata", JsonNodeFactory.instance.nullNode());
    response.put("model", model).put("object", "response");
    response.set("output", output == null ? JsonNodeFactory.instance.arrayNode() : output);
    repeat(response, "parallel_tool_calls", JsonNodeFactory.instance.booleanNode(true));
    repeat(response, "temperature", JsonNodeFactory.instance.numberNode(1.0));
    boolean hasTools = request.path("tools").size() > 0;
    repeat(response, "tool_choice", JsonNodeFactory.instance.textNode(hasTools ? "auto" : "none"));
    repeat(response, "tools", JsonNodeFactory.instance.arrayNode());
    repeat(response, "top_p", JsonNodeFactory.instance.numberNode(1.0));
    response.put("background", false).put("max_output_tokens", maxOutputTokens);
    response.putNull("max_tool_calls").putNull("previous_response_id").putNull("prompt").putNull("reasoning");
    response.put("service_tier", "auto").put("status", status);
    repeat(response, "text", JsonNodeFactory.instance.nullNode());
    response.putNull("top_logprobs");
    response.put("truncation", "disabled");
    if (usage == null) {
      response.putNull("usage");
    } else {
      response.set("usage", usage(usage));
    }
    repeat(response, "user", JsonNodeFactory.instance.nullNode());
    return response;
  }

  private void repeat(ObjectNode response, String name, JsonNode otherwise) {
    JsonNode given = request.get(name);
    response.set(name, given == null || given.isNull() ? otherwise : given);
  }

  private static ObjectNode callItem(String name, String arguments, String status) {
    return JsonNodeFactory.instance.objectNode()
        .put("arguments", arguments)
        .put("call_id", CallIds.next())
        .put("name", name)
        .put("type", "function_call")
        .put("id", CallIds.nextItem())
        .put("status", status);
  }

  private ObjectNode message(String status, @Nullable String text) {
    ObjectNode message = JsonNodeFactory.instance.objectNode();
    message.put("id", item);
    if (text == null) {
      message.putArray("content");
    } else {
      message.putArray("content").add(text(text, logprobsSoFar));
    }
    return message.put("role", "assistant").put("status", status).put("type", "message");
  }

  private static ObjectNode text(String text, ArrayNode logprobs) {
    ObjectNode part = JsonNodeFactory.instance.objectNode();
    part.putArray("annotations");
    part.put("text", text).put("type", "output_text");
    part.set("logprobs", logprobs.deepCopy());
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

  private ObjectNode ofCall(String type, ObjectNode its) {
    return event(type).put("item_id", its.path("id").asText()).put("output_index", 0);
  }

  private ObjectNode event(String type) {
    return JsonNodeFactory.instance.objectNode().put("type", type).put("sequence_number", sequence++);
  }
}
