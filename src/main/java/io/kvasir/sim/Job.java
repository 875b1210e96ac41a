package io.kvasir.sim;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.sim.transfer.Leg;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a client asks the engine to generate, whichever API it came through.
 *
 * @param prompts token ids; one for a chat, one or more for text completions
 * @param choices answers per prompt
 * @param extent how long an answer may become
 * @param stream whether the answer goes out token by token
 * @param includeUsage whether a streamed answer ends with its usage
 * @param continuousUsage whether every event tells the usage so far
 * @param tokenIds whether prompt and answer are told as token ids, too
 * @param lora adapter asked for, or null
 * @param salt cache salt, or null
 * @param legs what every sequence has to do with other engines
 * @param mostAsked tokens that the client allows, whatever the engine makes of it
 */
record Job(
    List<int[]> prompts,
    int choices,
    Generation.Extent extent,
    boolean stream,
    boolean includeUsage,
    boolean continuousUsage,
    boolean tokenIds,
    @Nullable String lora,
    @Nullable String salt,
    List<Leg> legs,
    int mostAsked) {

  /**
   * Reads what the APIs have in common.
   *
   * @param most tokens the request allows, or null when it does not say
   * @param otherwise tokens when it does not say; 0 for all the context that is left
   */
  static Job of(
      Body body, List<int[]> prompts, @Nullable Integer most, int otherwise, int modelLen, @Nullable String lora)
      throws ApiError {
    int longest = prompts.stream().mapToInt(prompt -> prompt.length).max().orElse(0);
    Integer fewest = body.integer("min_tokens");
    Integer n = body.integer("n");
    boolean stream = body.flag("stream");
    if (body.get("stream_options") != null && !stream) {
      throw ApiError.badRequest("Stream options can only be defined when `stream=True`.", "stream_options");
    }
    Body options = body.object("stream_options");
    String salt = body.text("cache_salt");
    if (salt != null && salt.isEmpty()) {
      throw ApiError.badRequest("Parameter 'cache_salt' must be a non-empty string if provided.", "cache_salt");
    }
    if (n != null && (n < 1 || n > 128)) {
      throw ApiError.badRequest("n must be at least 1 and at most 128, got " + n + ".", "n");
    }
    Generation.Extent extent =
        new Generation.Extent(
            extent(longest, most, otherwise, modelLen), fewest == null ? 0 : fewest, body.flag("ignore_eos"));
    return new Job(
        prompts,
        n == null ? 1 : n,
        extent,
        stream,
        options.flag("include_usage"),
        options.flag("continuous_usage_stats"),
        body.flag("return_token_ids"),
        lora,
        salt,
        alone(prompts.size() * (n == null ? 1 : n)),
        extent.most());
  }

  static List<Leg> alone(int sequences) {
    return Collections.nCopies(sequences, new Leg.Alone());
  }

  /** This job, whose sequences have to do with other engines; an engine that only prefills says one token. */
  Job with(List<Leg> others) {
    boolean first = others.getFirst() instanceof Leg.Send send && send.firstTokenOnly();
    return new Job(
        prompts, choices, first ? new Generation.Extent(1, 0, extent.endless()) : extent, stream, includeUsage,
        continuousUsage, tokenIds, lora, salt, List.copyOf(others), mostAsked);
  }

  /** Refuses what the context cannot hold, in the engine's words. */
  private static int extent(int prompt, @Nullable Integer most, int otherwise, int modelLen) throws ApiError {
    if (most != null && most < 1) {
      throw ApiError.badRequest("max_tokens must be at least 1, got " + most + ".", "max_tokens");
    }
    int left = modelLen - prompt;
    if (left < 1) {
      throw ApiError.badRequest(
          "This model's maximum context length is " + modelLen + " tokens. However, your request has " + prompt
              + " input tokens. Please reduce the length of the input messages.",
          "input_tokens");
    }
    if (most != null && most > left) {
      throw ApiError.badRequest(
          "'max_tokens' or 'max_completion_tokens' is too large: " + most + ". This model's maximum context length is "
              + modelLen + " tokens and your request has " + prompt + " input tokens (" + most + " > " + modelLen
              + " - " + prompt + ").",
          "max_tokens");
    }
    return most != null ? most : otherwise == 0 ? left : Math.min(otherwise, left);
  }

  /** The answer's first element's {@code max_completion_tokens}, else {@code max_tokens}. */
  static @Nullable Integer most(Body body) throws ApiError {
    Integer completion = body.integer("max_completion_tokens");
    return completion != null ? completion : body.integer("max_tokens");
  }

  /** Token ids given in place of text. */
  static int[] ids(JsonNode array, String field) throws ApiError {
    int[] ids = new int[array.size()];
    for (int i = 0; i < ids.length; i++) {
      JsonNode id = array.get(i);
      if (!id.canConvertToLong() || !id.isIntegralNumber() || id.longValue() < 0 || id.longValue() > 0xffffffffL) {
        throw Body.invalid("int_type", field, "Input should be a valid integer");
      }
      ids[i] = (int) id.longValue();
    }
    return ids;
  }
}
