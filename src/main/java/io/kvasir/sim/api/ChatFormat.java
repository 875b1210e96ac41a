package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.core.GeneratedSequence;
import io.kvasir.sim.core.ResponseFormat;
import io.kvasir.sim.core.Usage;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** {@code /v1/chat/completions} in vLLM's shapes, with calls of tools as its parser {@code hermes} tells them. */
final class ChatFormat implements ResponseFormat {
  private final AnswerHead head;
  private final String event;
  private final int choices;
  private final int[] prompt;
  private final RequiredOutput.ToolChoice toolChoice;
  private final String echo;
  private final boolean[] called;
  private final int[] places;

  /**
   * The format of one answer.
   *
   * @param toolChoice decides how a call's choice ends
   * @param echo what the answer repeats before its own text
   */
  ChatFormat(AnswerHead head, int choices, int[] prompt, RequiredOutput.ToolChoice toolChoice, String echo) {
    this.head = head;
    this.event = head.event("chat.completion.chunk");
    this.choices = choices;
    this.prompt = prompt;
    this.toolChoice = toolChoice;
    this.echo = echo;
    this.called = new boolean[choices];
    this.places = new int[choices];
  }

  @Override
  public void begin(StringBuilder out) {
    for (int choice = 0; choice < choices; choice++) {
      out.append(event).append("{\"index\":").append(choice);
      out.append(",\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}]");
      if (head.options().tokenIds()) {
        out.append(",\"prompt_token_ids\":");
        AnswerHead.appendIds(out, prompt);
      }
      out.append("}\n\n");
    }
    for (int choice = 0; choice < choices && !echo.isEmpty(); choice++) {
      out.append(event).append("{\"index\":").append(choice).append(",\"delta\":{\"content\":");
      ResponseFormat.quote(out, echo);
      out.append("},\"logprobs\":null,\"finish_reason\":null}]}\n\n");
    }
  }

  @Override
  public void delta(StringBuilder out, int choice, Delta delta) {
    CallPart call = delta.call();
    int[] tokens = delta.tokens();
    boolean isEmpty = call != null && call.name() == null && call.arguments().isEmpty();
    if (isEmpty && delta.end() == null && tokens == null) {
      return; // markup, of which there is nothing to tell
    }
    out.append(event).append("{\"index\":").append(choice).append(",\"delta\":{");
    if (call == null) {
      out.append("\"content\":");
      ResponseFormat.quote(out, delta.text());
    } else if (!isEmpty) {
      called[choice] = true;
      append(out, call);
    }
    out.append("},\"logprobs\":");
    LogprobsJson logprobs = head.options().logprobs();
    if (logprobs == null || tokens == null) {
      out.append("null");
    } else {
      out.append(logprobs.chat(tokens, places[choice]));
      places[choice] += tokens.length;
    }
    End end = delta.end();
    boolean isToolCalls = end != null && called[choice] && !(toolChoice instanceof RequiredOutput.Named)
        && end.reason() == GeneratedSequence.FinishReason.STOP;
    head.endChoice(out, delta, isToolCalls ? "tool_calls" : end == null ? "" : end.name());
    AnswerHead.endEvent(out, delta);
  }

  private static void append(StringBuilder out, CallPart call) {
    out.append("\"content\":null,\"tool_calls\":[");
    if (call.name() != null) {
      out.append("{\"id\":\"").append(CallIds.next());
      out.append("\",\"type\":\"function\",\"index\":0,\"function\":{\"name\":");
      ResponseFormat.quote(out, call.name());
      out.append(call.arguments().isEmpty() ? "}}" : "}},");
    }
    if (!call.arguments().isEmpty()) {
      out.append("{\"index\":0,\"function\":{\"arguments\":");
      ResponseFormat.quote(out, call.arguments());
      out.append("}}");
    }
    out.append(']');
  }

  @Override
  public void end(StringBuilder out, Usage usage) {
    head.end(out, event, usage);
  }

  @Override
  public JsonNode body(List<Choice> all, Usage usage) {
    ObjectNode answer = head.body("chat.completion");
    ArrayNode list = answer.putArray("choices");
    AnswerHead.Options options = head.options();
    for (int i = 0; i < all.size(); i++) {
      Choice choice = all.get(i);
      ObjectNode json = list.addObject();
      json.put("index", i);
      put(json.putObject("message"), choice);
      LogprobsJson logprobs = options.logprobs();
      json.set("logprobs", logprobs == null ? json.nullNode() : logprobs.chat(choice.tokens(), 0));
      json.put("finish_reason", finish(choice));
      json.set("stop_reason", choice.end().stop());
      AnswerHead.putIds(json, "token_ids", options.tokenIds() ? choice.tokens() : null);
    }
    answer.putNull("service_tier");
    answer.putNull("system_fingerprint");
    answer.set("usage", usage.json());
    LogprobsJson ofPrompt = options.promptLogprobs();
    answer.set("prompt_logprobs", ofPrompt == null ? answer.nullNode() : ofPrompt.prompt(prompt));
    AnswerHead.putIds(answer, "prompt_token_ids", options.tokenIds() ? prompt : null);
    answer.putNull("kv_transfer_params");
    return answer;
  }

  private void put(ObjectNode message, Choice choice) {
    Call call = choice.call();
    message.put("role", "assistant");
    message.put("content", call == null ? echo + choice.text() : content());
    message.putNull("refusal").putNull("annotations").putNull("audio").putNull("function_call");
    if (call != null) {
      message.putArray("tool_calls").addObject()
          .put("id", CallIds.next())
          .put("type", "function")
          .putObject("function").put("name", call.name()).put("arguments", call.arguments());
    }
    message.putNull("reasoning");
  }

  /** Beside a call: nothing, or the empty text where the client required the call. */
  private @Nullable String content() {
    return echo.isEmpty() && toolChoice == RequiredOutput.Mode.AUTO ? null : echo;
  }

  private String finish(Choice choice) {
    boolean isToolCalls = choice.call() != null
        && (toolChoice == RequiredOutput.Mode.AUTO
            || (toolChoice == RequiredOutput.Mode.REQUIRED
                && choice.end().reason() == GeneratedSequence.FinishReason.STOP));
    return isToolCalls ? "tool_calls" : choice.end().name();
  }
}
