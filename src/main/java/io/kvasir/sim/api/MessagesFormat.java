package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.core.GeneratedSequence;
import io.kvasir.sim.core.ResponseFormat;
import io.kvasir.sim.core.Usage;
import io.kvasir.sim.settings.CachedTokensUsage;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** {@code /v1/messages}: Anthropic's format, in which tokens from the cache, where they are told, are not input. */
final class MessagesFormat implements ResponseFormat {
  private final String id;
  private final String model;
  private final int promptTokens;
  private final CachedTokensUsage cachedTokens;
  private GeneratedSequence.FinishReason finish = GeneratedSequence.FinishReason.STOP;

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
    ObjectNode block = event("content_block_start").put("index", 0);
    block.putObject("content_block").put("type", "text").put("text", "");
    ResponseFormat.append(out, block);
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
      out.append("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
          + "{\"type\":\"text_delta\",\"text\":");
      ResponseFormat.quote(out, text);
      out.append("}}\n\n");
    }
  }

  @Override
  public void end(StringBuilder out, Usage usage) {
    ResponseFormat.append(out, event("content_block_stop").put("index", 0));
    ObjectNode last = event("message_delta");
    last.putObject("delta").put("stop_reason", stopReason(finish)).putNull("stop_sequence");
    last.set("usage", usage(usage));
    ResponseFormat.append(out, last);
    ResponseFormat.append(out, event("message_stop"));
  }

  @Override
  public JsonNode body(List<Choice> choices, Usage usage) {
    Choice choice = choices.getFirst();
    ObjectNode message = JsonNodeFactory.instance.objectNode();
    describe(message);
    message.putArray("content").addObject().put("type", "text").put("text", choice.text());
    message.put("stop_reason", stopReason(choice.finish()));
    message.putNull("stop_sequence");
    message.set("usage", usage(usage));
    return message;
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

  private static String stopReason(GeneratedSequence.FinishReason finish) {
    return finish == GeneratedSequence.FinishReason.LENGTH ? "max_tokens" : "end_turn";
  }

  private static ObjectNode event(String type) {
    return JsonNodeFactory.instance.objectNode().put("type", type);
  }
}
