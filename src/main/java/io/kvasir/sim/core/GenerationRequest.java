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
 * @param response what the answer includes, and how it is sent
 * @param scope which requests' KV blocks it may use
 * @param transfers what every sequence has to do with other engines
 */
public record GenerationRequest(
    List<int[]> prompts,
    int choices,
    GeneratedSequence.SamplingParams sampling,
    int requestedTokens,
    ResponseOptions response,
    CacheScope scope,
    List<TransferSpec> transfers) {

  /**
   * The client's options of the answer.
   *
   * @param stream whether the answer goes out token by token
   * @param includeUsage whether a streamed answer ends with its usage
   * @param continuousUsage whether every event has the usage so far
   * @param returnTokenIds whether the answer includes the token ids of prompt and answer
   */
  public record ResponseOptions(boolean stream, boolean includeUsage, boolean continuousUsage, boolean returnTokenIds) {
    /** A whole answer, without anything that is not asked for. */
    static final ResponseOptions PLAIN = new ResponseOptions(false, false, false, false);
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
        prompts, 1, new GeneratedSequence.SamplingParams(0, 0, false), 0, ResponseOptions.PLAIN, scope,
        noTransfers(prompts.size()));
  }

  /**
   * Reads what the APIs have in common.
   *
   * @param most tokens the request allows, or null for no limit
   * @param otherwise tokens without a limit; 0 for the whole remaining context
   */
  public static GenerationRequest of(
      RequestBody body, List<int[]> prompts, @Nullable Integer most, int otherwise, int modelLen, @Nullable String lora)
      throws EngineApiException {
    int longest = prompts.stream().mapToInt(prompt -> prompt.length).max().orElse(0);
    Integer fewest = body.integer("min_tokens");
    Integer n = body.integer("n");
    boolean stream = body.flag("stream");
    if (body.get("stream_options") != null && !stream) {
      throw EngineApiException.badRequest("Stream options can only be defined when `stream=True`.", "stream_options");
    }
    RequestBody options = body.object("stream_options");
    String salt = body.text("cache_salt");
    if (salt != null && salt.isEmpty()) {
      throw EngineApiException.badRequest("Parameter 'cache_salt' must be a non-empty string if provided.",
          "cache_salt");
    }
    if (n != null && (n < 1 || n > 128)) {
      throw EngineApiException.badRequest("n must be at least 1 and at most 128, got " + n + ".", "n");
    }
    GeneratedSequence.SamplingParams sampling =
        new GeneratedSequence.SamplingParams(
            maxTokensInContext(longest, most, otherwise, modelLen),
            fewest == null ? 0 : fewest,
            body.flag("ignore_eos"));
    return new GenerationRequest(
        prompts,
        n == null ? 1 : n,
        sampling,
        sampling.maxTokens(),
        new ResponseOptions(
            stream,
            options.flag("include_usage"),
            options.flag("continuous_usage_stats"),
            body.flag("return_token_ids")),
        new CacheScope(lora, salt, body.text("session_id")),
        noTransfers(prompts.size() * (n == null ? 1 : n)));
  }

  private static List<TransferSpec> noTransfers(int sequences) {
    return Collections.nCopies(sequences, new TransferSpec.NoTransfer());
  }

  /** This request with its transfers; an engine that only prefills generates one token. */
  GenerationRequest withTransfers(List<TransferSpec> others) {
    boolean first = others.getFirst() instanceof TransferSpec.Send send && send.firstTokenOnly();
    return new GenerationRequest(
        prompts,
        choices,
        first ? new GeneratedSequence.SamplingParams(1, 0, sampling.ignoreEos()) : sampling,
        requestedTokens,
        response,
        scope,
        List.copyOf(others));
  }

  /** Refuses what the context cannot hold, with the engine's message. */
  private static int maxTokensInContext(int prompt, @Nullable Integer most, int otherwise, int modelLen)
      throws EngineApiException {
    if (most != null && most < 1) {
      throw EngineApiException.badRequest("max_tokens must be at least 1, got " + most + ".", "max_tokens");
    }
    int left = modelLen - prompt;
    if (left < 1) {
      throw EngineApiException.badRequest(
          "This model's maximum context length is " + modelLen + " tokens. However, your request has " + prompt
              + " input tokens. Please reduce the length of the input messages.",
          "input_tokens");
    }
    if (most != null && most > left) {
      throw EngineApiException.badRequest(
          "'max_tokens' or 'max_completion_tokens' is too large: " + most + ". This model's maximum context length is "
              + modelLen + " tokens and your request has " + prompt + " input tokens (" + most + " > " + modelLen
              + " - " + prompt + ").",
          "max_tokens");
    }
    return most != null ? most : otherwise == 0 ? left : Math.min(otherwise, left);
  }

  /** The answer's first element's {@code max_completion_tokens}, else {@code max_tokens}. */
  public static @Nullable Integer maxTokens(RequestBody body) throws EngineApiException {
    Integer completion = body.integer("max_completion_tokens");
    return completion != null ? completion : body.integer("max_tokens");
  }

  /** Token ids given in place of text. */
  public static int[] ids(JsonNode array, String field) throws EngineApiException {
    int[] ids = new int[array.size()];
    for (int i = 0; i < ids.length; i++) {
      JsonNode id = array.get(i);
      if (!id.canConvertToLong() || !id.isIntegralNumber() || id.longValue() < 0 || id.longValue() > 0xffffffffL) {
        throw RequestBody.invalid("int_type", field, "Input should be a valid integer");
      }
      ids[i] = (int) id.longValue();
    }
    return ids;
  }
}
