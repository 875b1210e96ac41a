package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.core.GeneratedSequence;
import io.kvasir.sim.core.ResponseFormat;
import io.kvasir.sim.core.Usage;
import io.kvasir.sim.settings.CachedTokensUsage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;

/** {@code /v1/messages}: Anthropic's format, in which tokens from the cache, where they are told, are not input. */
final class MessagesFormat implements ResponseFormat {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final String id;
  private final String model;
  private final int promptTokens;
  private final CachedTokensUsage cachedTokens;
  private End end = End.of(GeneratedSequence.FinishReason.STOP);
  private boolean opened;
  private boolean called;

  /**
   * A format of one answer.
   *
   * @param cachedTokens when tokens from the cache are told here, of those that are told at all
   */
  MessagesFormat(String id, String model, int promptTokens, CachedTokensUsage cachedTokens) {
    this.id = id;
    this.model = model;
    this.promptTokens = promptTokens;
    this.cachedTokens = cachedTokens;
  }

  @Override
  public void begin(StringBuilder out) {
    ObjectNode start = event("message_start");
    ObjectNode message = start.putObject("message");
    describe(message);
    message.putArray("content");
    message.putNull("stop_reason").putNull("stop_sequence");
    message.set("usage", usage(new Usage(promptTokens, 0, null)));
    ResponseFormat.append(out, start);
  }

  @Override
  public void delta(StringBuilder out, int choice, Delta delta) {
    End ended = delta.end();
    end = ended == null ? end : ended;
    CallPart call = delta.call();
    if (call != null) {
      callPart(out, call);
    } else if (!delta.text().isEmpty()) {
      if (!opened) {
        open(out, JsonNodeFactory.instance.objectNode().put("type", "text").put("text", ""));
      }
      out.append("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
          + "{\"type\":\"text_delta\",\"text\":");
      ResponseFormat.quote(out, delta.text());
      out.append("}}\n\n");
    }
  }

  private void callPart(StringBuilder out, CallPart call) {
    if (call.name() != null) {
      called = true;
      ObjectNode block = JsonNodeFactory.instance.objectNode()
          .put("type", "tool_use").put("id", CallIds.next()).put("name", call.name());
      block.putObject("input");
      open(out, block);
    }
    if (!call.arguments().isEmpty()) {
      ObjectNode part = event("content_block_delta").put("index", 0);
      part.putObject("delta").put("type", "input_json_delta").put("partial_json", call.arguments());
      ResponseFormat.append(out, part);
    }
  }

  private void open(StringBuilder out, ObjectNode block) {
    opened = true;
    ResponseFormat.append(
        out, event("content_block_start").put("index", 0).<ObjectNode>set("content_block", block));
  }

  @Override
  public void end(StringBuilder out, Usage usage) {
    if (opened) {
      ResponseFormat.append(out, event("content_block_stop").put("index", 0));
    }
    ObjectNode last = event("message_delta");
    putStop(last.putObject("delta"), called);
    last.set("usage", usage(usage));
    ResponseFormat.append(out, last);
    ResponseFormat.append(out, event("message_stop"));
  }

  @Override
  public JsonNode body(List<Choice> choices, Usage usage) {
    Choice choice = choices.getFirst();
    end = choice.end();
    ObjectNode message = JsonNodeFactory.instance.objectNode();
    describe(message);
    ArrayNode content = message.putArray("content");
    Call call = choice.call();
    if (call == null) {
      content.addObject().put("type", "text").put("text", choice.text());
    } else {
      content.addObject().put("type", "tool_use").put("id", CallIds.next()).put("name", call.name())
          .set("input", input(call));
    }
    putStop(message, call != null);
    message.set("usage", usage(usage));
    return message;
  }

  private static JsonNode input(Call call) {
    try {
      return JSON.readTree(call.arguments());
    } catch (IOException e) {
      throw new UncheckedIOException("a complete call has arguments that are no JSON", e);
    }
  }

  private void describe(ObjectNode message) {
    message.put("id", id).put("type", "message").put("role", "assistant").put("model", model);
  }

  private ObjectNode usage(Usage usage) {
    Integer cached = usage.cached() == null ? null : cachedTokens.reported(usage.cached());
    ObjectNode json = JsonNodeFactory.instance.objectNode().put("input_tokens", usage.prompt());
    if (cached != null) {
      json.put("input_tokens", usage.prompt() - cached).put("cache_read_input_tokens", cached);
    }
    return json.put("output_tokens", usage.completion());
  }

  private void putStop(ObjectNode json, boolean used) {
    boolean isSequence = !used && end.stop().isTextual();
    boolean isCut = end.reason() == GeneratedSequence.FinishReason.LENGTH;
    json.put("stop_reason", isCut ? "max_tokens" : used ? "tool_use" : isSequence ? "stop_sequence" : "end_turn");
    json.set("stop_sequence", isSequence && !isCut ? end.stop() : json.nullNode());
  }

  private static ObjectNode event(String type) {
    return JsonNodeFactory.instance.objectNode().put("type", type);
  }
}
