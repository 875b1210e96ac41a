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

/** {@code /v1/chat/completions} and {@code /v1/completions}, which differ in a few names, in vLLM's shapes. */
final class CompletionFormat implements ResponseFormat {
  private static final String DONE = "data: [DONE]\n\n";

  private final boolean chat;
  private final String id;
  private final String model;
  private final long created;
  private final int choices;
  private final boolean includeUsage;
  /** The prompts' tokens, for clients that requested them; else null. */
  private final @Nullable List<int[]> prompts;
  private final String head;
  private final boolean[] started;

  /**
   * The format of one answer.
   *
   * @param prompts the prompts' tokens when the answer includes token ids; else null
   * @param choices choices in all, {@code n} for every prompt
   */
  CompletionFormat(
      boolean chat,
      String id,
      String model,
      long created,
      int choices,
      boolean includeUsage,
      @Nullable List<int[]> prompts) {
    this.chat = chat;
    this.id = id;
    this.model = model;
    this.created = created;
    this.choices = choices;
    this.includeUsage = includeUsage;
    this.prompts = prompts;
    this.started = new boolean[choices];
    StringBuilder start = new StringBuilder("data: {\"id\":");
    ResponseFormat.quote(start, id);
    start.append(",\"object\":\"").append(chat ? "chat.completion.chunk" : "text_completion");
    start.append("\",\"created\":").append(created).append(",\"model\":");
    ResponseFormat.quote(start, model);
    head = start.append(",\"choices\":[").toString();
  }

  @Override
  public void begin(StringBuilder out) {
    if (!chat) {
      return;
    }
    for (int choice = 0; choice < choices; choice++) {
      out.append(head).append("{\"index\":").append(choice);
      out.append(",\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}]");
      if (prompts != null) {
        out.append(",\"prompt_token_ids\":");
        ids(out, prompts.getFirst());
      }
      out.append("}\n\n");
    }
  }

  @Override
  public void delta(
      StringBuilder out,
      int choice,
      String text,
      int @Nullable [] tokens,
      GeneratedSequence.@Nullable FinishReason finish,
      @Nullable Usage usage) {
    out.append(head).append("{\"index\":").append(choice);
    out.append(chat ? ",\"delta\":{\"content\":" : ",\"text\":");
    ResponseFormat.quote(out, text);
    out.append(chat ? "},\"logprobs\":null,\"finish_reason\":" : ",\"logprobs\":null,\"finish_reason\":");
    if (finish == null) {
      out.append("null");
    } else {
      out.append('"').append(ResponseFormat.reason(finish)).append("\",\"stop_reason\":null");
    }
    out.append(",\"token_ids\":");
    ids(out, tokens);
    if (!chat && prompts != null && !started[choice]) {
      started[choice] = true;
      out.append(",\"prompt_token_ids\":");
      ids(out, prompts.get(choice * prompts.size() / choices));
    }
    out.append("}]");
    if (usage != null) {
      out.append(",\"usage\":").append(usage.json());
    }
    out.append("}\n\n");
  }

  @Override
  public void end(StringBuilder out, Usage usage) {
    if (includeUsage) {
      ObjectNode json = usage.json();
      if (usage.cached() == null) {
        json.remove("prompt_tokens_details");
      }
      out.append(head).append("],\"usage\":").append(json).append("}\n\n");
    }
    out.append(DONE);
  }

  @Override
  public JsonNode body(List<Choice> all, Usage usage) {
    ObjectNode answer = JsonNodeFactory.instance.objectNode();
    answer.put("id", id);
    answer.put("object", chat ? "chat.completion" : "text_completion");
    answer.put("created", created);
    answer.put("model", model);
    ArrayNode list = answer.putArray("choices");
    for (int i = 0; i < all.size(); i++) {
      Choice choice = all.get(i);
      ObjectNode json = list.addObject();
      json.put("index", i);
      if (chat) {
        ObjectNode message = json.putObject("message");
        message.put("role", "assistant");
        message.put("content", choice.text());
        message.putNull("refusal").putNull("annotations").putNull("audio").putNull("function_call");
        message.putNull("reasoning");
      } else {
        json.put("text", choice.text());
      }
      json.putNull("logprobs");
      json.put("finish_reason", ResponseFormat.reason(choice.finish()));
      json.putNull("stop_reason");
      put(json, "token_ids", prompts == null ? null : choice.tokens());
      if (!chat) {
        json.putNull("prompt_logprobs");
        put(json, "prompt_token_ids", prompts == null ? null : prompts.get(i * prompts.size() / choices));
      }
    }
    answer.putNull("service_tier");
    answer.putNull("system_fingerprint");
    answer.set("usage", usage.json());
    if (chat) {
      answer.putNull("prompt_logprobs");
      put(answer, "prompt_token_ids", prompts == null ? null : prompts.getFirst());
    }
    answer.putNull("kv_transfer_params");
    return answer;
  }

  private static void put(ObjectNode json, String name, int @Nullable [] tokens) {
    if (tokens == null) {
      json.putNull(name);
      return;
    }
    ArrayNode array = json.putArray(name);
    for (int token : tokens) {
      array.add(token);
    }
  }

  private static void ids(StringBuilder out, int @Nullable [] tokens) {
    if (tokens == null) {
      out.append("null");
      return;
    }
    out.append('[');
    for (int i = 0; i < tokens.length; i++) {
      out.append(i == 0 ? "" : ",").append(tokens[i]);
    }
    out.append(']');
  }
}
