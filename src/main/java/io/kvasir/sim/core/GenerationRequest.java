package io.kvasir.sim.core;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.json.RequestBody;
import io.kvasir.sim.transfer.TransferSpec;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A client's request to generate, from any of the APIs.
 *
 * @param prompts token ids; one for a chat, one or more for text completions
 * @param choices answers per prompt
 * @param sampling how long an answer may become
 * @param requestedTokens tokens that the client allows, whatever the engine makes of it
 * @param plan what the answers are
 * @param response what the answer includes, and how it is sent
 * @param scope which requests' KV blocks it may use
 * @param transfers what every sequence has to do with other engines
 */
public record GenerationRequest(
    List<int[]> prompts,
    int choices,
    GeneratedSequence.SamplingParams sampling,
    int requestedTokens,
    AnswerPlan plan,
    ResponseOptions response,
    CacheScope scope,
    List<TransferSpec> transfers) {

  /**
   * The client's options of the answer.
   *
   * @param stream whether the answer goes out token by token
   * @param includeUsage whether a streamed answer ends with its usage
   * @param continuousUsage whether every event has the usage so far
   * @param tokens whether the answer includes its tokens' ids, or something about each of them
   * @param promptLogprobs whether it includes something about each of the prompt's tokens
   */
  public record ResponseOptions(
      boolean stream, boolean includeUsage, boolean continuousUsage, boolean tokens, boolean promptLogprobs) {
    /** A whole answer, without anything that is not asked for. */
    static final ResponseOptions PLAIN = new ResponseOptions(false, false, false, false, false);
  }

  /**
   * What KV blocks are keyed by beside the tokens: only requests with the same share them.
   *
   * @param lora the adapter, or null
   * @param salt cache salt, or null
   * @param session what keeps its blocks after its end, or null; requests of other sessions share them, too
   */
  public record CacheScope(@Nullable String lora, @Nullable String salt, @Nullable String session) {
    /** Of no session. */
    public CacheScope(@Nullable String lora, @Nullable String salt) {
      this(lora, salt, null);
    }
  }

  /** A request that computes its prompts and generates nothing. */
  public static GenerationRequest prefill(List<int[]> prompts, CacheScope scope) {
    return new GenerationRequest(
        prompts, 1, GeneratedSequence.SamplingParams.NOTHING, 0, AnswerPlan.TEXT, ResponseOptions.PLAIN, scope,
        noTransfers(prompts.size()));
  }

  /** Transfers of sequences that have to do with no other engine. */
  public static List<TransferSpec> noTransfers(int sequences) {
    return Collections.nCopies(sequences, new TransferSpec.NoTransfer());
  }

  /** This request with its transfers; an engine that only prefills generates one token. */
  GenerationRequest withTransfers(List<TransferSpec> others) {
    boolean first = others.getFirst() instanceof TransferSpec.Send send && send.firstTokenOnly();
    return new GenerationRequest(
        prompts,
        choices,
        first ? new GeneratedSequence.SamplingParams(1, 0, sampling.ignoreEos(), StopConditions.NONE) : sampling,
        requestedTokens,
        plan,
        response,
        scope,
        List.copyOf(others));
  }

  /** Token ids given in place of text. */
  public static int[] ids(JsonNode array, String field) throws EngineApiException {
    int[] ids = new int[array.size()];
    for (int i = 0; i < ids.length; i++) {
      JsonNode id = array.get(i);
      if (!id.canConvertToLong() || !id.isIntegralNumber() || id.longValue() < 0 || id.longValue() > 0xffffffffL) {
        throw RequestBody.invalid("int_type", field + "." + i, "Input should be a valid integer", id);
      }
      ids[i] = (int) id.longValue();
    }
    return ids;
  }
}
