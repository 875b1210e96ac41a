package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.core.ResponseFormat;
import io.kvasir.sim.core.Usage;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** {@code /v1/completions} in vLLM's shapes. */
final class CompletionFormat implements ResponseFormat {
  private final AnswerHead head;
  private final String event;
  private final List<int[]> prompts;
  private final int choices;
  private final @Nullable Echo echo;
  private final boolean[] started;
  private final int[] places;
  private final int[] offsets;

  /**
   * That answers repeat their prompts.
   *
   * @param texts of the prompts
   * @param alone whether there is nothing behind them
   */
  record Echo(List<String> texts, boolean alone) {}

  /**
   * The format of one answer.
   *
   * @param choices in all, {@code n} for every prompt
   * @param echo null for none
   */
  CompletionFormat(AnswerHead head, List<int[]> prompts, int choices, @Nullable Echo echo) {
    this.head = head;
    this.event = head.event("text_completion");
    this.prompts = prompts;
    this.choices = choices;
    this.echo = echo;
    this.started = new boolean[choices];
    this.places = new int[choices];
    this.offsets = new int[choices];
  }

  @Override
  public void begin(StringBuilder out) {}

  @Override
  public void delta(StringBuilder out, int choice, Delta delta) {
    boolean first = !started[choice];
    started[choice] = true;
    out.append(event).append("{\"index\":").append(choice).append(",\"text\":");
    ResponseFormat.quote(out, first ? echoed(choice, delta.text()) : echo != null && echo.alone() ? "" : delta.text());
    out.append(",\"logprobs\":");
    LogprobsJson logprobs = head.options().logprobs();
    int[] tokens = delta.tokens();
    if (logprobs == null || tokens == null) {
      out.append("null");
    } else {
      int[] shown = echo != null && echo.alone() ? new int[0] : tokens;
      int[] before = first && echo != null ? prompt(choice) : null;
      out.append(logprobs.completion(before, shown, places[choice], offsets[choice]));
      offsets[choice] += logprobs.length(shown) + (before == null ? 0 : logprobs.length(before));
      places[choice] += tokens.length;
    }
    End end = delta.end();
    head.endChoice(out, delta, end == null ? "" : end.name());
    if (first && (head.options().tokenIds() || echo != null)) {
      out.append(",\"prompt_token_ids\":");
      AnswerHead.appendIds(out, prompt(choice));
    }
    AnswerHead.endEvent(out, delta);
  }

  @Override
  public void end(StringBuilder out, Usage usage) {
    head.end(out, event, usage);
  }

  @Override
  public JsonNode body(List<Choice> all, Usage usage) {
    ObjectNode answer = head.body("text_completion");
    ArrayNode list = answer.putArray("choices");
    AnswerHead.Options options = head.options();
    for (int i = 0; i < all.size(); i++) {
      Choice choice = all.get(i);
      ObjectNode json = list.addObject();
      json.put("index", i);
      json.put("text", echoed(i, choice.text()));
      LogprobsJson logprobs = options.logprobs();
      json.set("logprobs", logprobs == null ? json.nullNode() : logprobs.completion(
          echo == null ? null : prompt(i), echo != null && echo.alone() ? new int[0] : choice.tokens(), 0, 0));
      json.put("finish_reason", choice.end().name());
      json.set("stop_reason", choice.end().stop());
      AnswerHead.putIds(json, "token_ids", options.tokenIds() ? choice.tokens() : null);
      LogprobsJson ofPrompt = options.promptLogprobs();
      json.set("prompt_logprobs", ofPrompt == null ? json.nullNode() : ofPrompt.prompt(prompt(i)));
      AnswerHead.putIds(json, "prompt_token_ids", options.tokenIds() ? prompt(i) : null);
    }
    answer.putNull("service_tier");
    answer.putNull("system_fingerprint");
    answer.set("usage", usage.json());
    answer.putNull("kv_transfer_params");
    return answer;
  }

  /** Behind the prompt, where answers repeat it; who has its tokens does not get it as text, too. */
  private String echoed(int choice, String text) {
    if (echo == null) {
      return text;
    }
    String before = head.options().tokenIds() ? "" : echo.texts().get(number(choice));
    return echo.alone() ? before : before + text;
  }

  private int[] prompt(int choice) {
    return prompts.get(number(choice));
  }

  private int number(int choice) {
    return choice * prompts.size() / choices;
  }
}
