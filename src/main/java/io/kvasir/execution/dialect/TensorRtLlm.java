package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.http.ApiPath;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * TensorRT-LLM: the context server reads the prompt and generates the first token, the generation server goes on
 * with what it was handed, first token included. When the context server's answer is finished already, it is the
 * whole answer, also for a client of an event stream.
 */
final class TensorRtLlm implements KvTransferProtocol {
  static final KvTransferProtocol INSTANCE = new TensorRtLlm();

  static final String PARAMETERS = "disaggregated_params";

  private static final Set<ApiPath> AS_CHATS = Set.of(ApiPath.RESPONSES, ApiPath.MESSAGES);
  private static final Set<ApiPath> APIS =
      Set.of(ApiPath.CHAT, ApiPath.COMPLETIONS, ApiPath.RESPONSES, ApiPath.MESSAGES);
  /** Below this the servers number requests of their own. */
  private static final long FIRST_ID = 1L << 42;

  @Override
  public @Nullable String unsupportedReason(ClientRequest request) {
    return request.unsupportedReason(APIS, PARAMETERS);
  }

  @Override
  public boolean splitsAsChat(@Nullable ApiPath api, Set<ApiPath> splitByBoth) {
    return api != null && AS_CHATS.contains(api);
  }

  @Override
  public EngineRequest prefill(SplitRequest split) {
    long id = split.rendezvousId() < FIRST_ID ? split.rendezvousId() + FIRST_ID : split.rendezvousId();
    String parameters =
        "{\"request_type\":\"context_only\",\"disagg_request_id\":%d,\"schedule_style\":0}".formatted(id);
    JsonMembers body = split.request().members()
        .with("stream", "false")
        .with("stream_options", "null")
        .with(PARAMETERS, parameters);
    return EngineRequest.of(split.request(), body);
  }

  @Override
  public PrefillResult prefillResult(SplitRequest split, byte[] answer) {
    JsonMembers members = JsonMembers.tryOf(answer);
    JsonNode choice = members == null ? null : members.value("choices").path(0);
    if (members == null || choice == null || !choice.isObject()) {
      return new PrefillResult.NoBlocks("context gave no choice");
    }
    String finish = choice.path("finish_reason").asText("");
    if (!finish.equals("length") && !finish.equals("not_finished")) {
      byte[] own = finished(members);
      return split.request().streams()
          ? new PrefillResult.FinalAnswer(CompletionChunks.of(split.request(), own), true)
          : new PrefillResult.FinalAnswer(own, false);
    }
    return parameters(members) == null
        ? new PrefillResult.NoBlocks("context kept nothing")
        : new PrefillResult.KvBlocks(members);
  }

  @Override
  public EngineRequest decode(SplitRequest split, PrefillResult.KvBlocks blocks) {
    JsonMembers answer = blocks.answer();
    JsonMembers parameters = parameters(answer);
    if (parameters == null) {
      throw new IllegalArgumentException("nothing was handed over");
    }
    JsonMembers on = parameters.withText("request_type", "generation_only").withCopy("ctx_usage", answer, "usage");
    JsonMembers body = split.request().members().with(PARAMETERS, on.toString());
    JsonMembers read = split.request().api() == ApiPath.COMPLETIONS
        ? body.withCopy("prompt", answer, "prompt_token_ids")
        // Either form, as the server had it.
        : answer.hasValue("prompt_token_ids_b64")
            ? body.withCopy("prompt_token_ids_b64", answer, "prompt_token_ids_b64")
            : body.withCopy("prompt_token_ids", answer, "prompt_token_ids");
    return EngineRequest.of(split.request(), read);
  }

  /** The first choice's parameters, as they came: a tree would change numbers. */
  private static @Nullable JsonMembers parameters(JsonMembers answer) {
    JsonMembers choice = firstChoice(answer);
    return choice == null ? null : choice.object(PARAMETERS);
  }

  /** The answer without the members that servers exchange among themselves. */
  private static byte[] finished(JsonMembers answer) {
    JsonMembers choice = firstChoice(answer);
    JsonMembers own = answer.without("prompt_token_ids", "prompt_token_ids_b64");
    return (choice == null ? own : own.with("choices", "[" + choice.without(PARAMETERS) + "]")).bytes();
  }

  private static @Nullable JsonMembers firstChoice(JsonMembers answer) {
    String choices = answer.json("choices");
    if (choices == null) {
      return null;
    }
    byte[] list = choices.getBytes(StandardCharsets.UTF_8);
    // A request that is split has one answer, so the list's only element is what stands between its brackets.
    return JsonMembers.tryOf(Arrays.copyOfRange(list, 1, list.length - 1));
  }
}
