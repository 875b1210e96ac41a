package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.sim.core.GeneratedSequence;
import io.kvasir.sim.core.StopConditions;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.json.RequestBody;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of sampling: those that decide where an answer ends, and those that a simulated model has no use for,
 * which are checked as vLLM 0.32 does, with its words.
 */
final class SamplingReader {
  private static final int MOST_CHOICES = 16_384;
  private static final int MOST_STOPS = 4;
  /** {@code --max-logprobs}. */
  private static final int MOST_LOGPROBS = 20;

  private final RequestBody body;

  SamplingReader(RequestBody body) {
    this.body = body;
  }

  /**
   * Reads them.
   *
   * @param most tokens that the request allows at most, within the context
   * @param stopField the field that has the stop strings
   */
  GeneratedSequence.SamplingParams read(int most, String stopField) throws EngineApiException {
    StopConditions stops = stops(stopField);
    body.integer("seed");
    checkLogitBias();
    int choices = choices();
    if (choices > MOST_CHOICES) {
      throw EngineApiException.badRequest(
          "n must be at most " + MOST_CHOICES + ", got " + choices
              + ". To increase this limit, set the VLLM_MAX_N_SEQUENCES environment variable.");
    }
    if (choices < 1) {
      throw EngineApiException.badRequest("n must be at least 1, got " + choices + ".");
    }
    checkPenalties();
    double temperature = checkTemperature();
    checkCuts();
    if (most < 1) {
      throw EngineApiException.parameter("max_tokens must be at least 1, got " + most + ".", "max_tokens", most);
    }
    Integer given = body.integer("min_tokens");
    int fewest = given == null ? 0 : given;
    if (fewest < 0) {
      throw EngineApiException.badRequest("min_tokens must be greater than or equal to 0, got " + fewest + ".");
    }
    if (fewest > most) {
      throw EngineApiException.badRequest(
          "min_tokens must be less than or equal to max_tokens=" + most + ", got " + fewest + ".");
    }
    if (stops.texts().contains("")) {
      throw EngineApiException.badRequest("stop cannot contain an empty string.");
    }
    if (temperature < 1e-5 && choices > 1) {
      throw EngineApiException.badRequest("n must be 1 when using greedy sampling, got " + choices + ".");
    }
    return new GeneratedSequence.SamplingParams(most, fewest, body.flag("ignore_eos"), stops);
  }

  /** Answers per prompt. */
  int choices() throws EngineApiException {
    Integer n = body.integer("n");
    return n == null ? 1 : n;
  }

  /**
   * How many log probabilities a field requests for each token.
   *
   * @param what whose they are, in vLLM's words
   * @return null for none
   */
  @Nullable Integer logprobs(String field, String what) throws EngineApiException {
    Integer top = body.integer(field);
    if (top != null && (top > MOST_LOGPROBS || top == -1)) {
      String requested = top == -1 ? "all tokens" : String.valueOf(top);
      throw EngineApiException.parameter(
          "Requested " + what + " of " + requested + ", which is greater than max allowed: " + MOST_LOGPROBS,
          field.equals("prompt_logprobs") ? field : "logprobs", requested);
    }
    return top;
  }

  private void checkPenalties() throws EngineApiException {
    for (String field : List.of("presence_penalty", "frequency_penalty")) {
      double penalty = number(field, 0);
      if (penalty < -2 || penalty > 2) {
        throw EngineApiException.badRequest(field + " must be in [-2, 2], got " + penalty + ".");
      }
    }
    double repetition = number("repetition_penalty", 1);
    if (repetition <= 0) {
      throw EngineApiException.badRequest("repetition_penalty must be greater than zero, got " + repetition + ".");
    }
  }

  private void checkLogitBias() throws EngineApiException {
    JsonNode bias = body.get("logit_bias");
    if (bias == null) {
      return;
    }
    List<String> wrong = new ArrayList<>();
    bias.fieldNames().forEachRemaining(name -> {
      if (!name.matches("\\d+")) {
        wrong.add("'" + name + "'");
      }
    });
    if (!wrong.isEmpty()) {
      throw EngineApiException.parameter(
          "logit_bias contains key(s) that cannot be converted to integer token IDs: " + wrong, "logit_bias", wrong);
    }
  }

  private double checkTemperature() throws EngineApiException {
    String field = "temperature";
    double temperature = number(field, 1);
    if (temperature < 0) {
      throw EngineApiException.parameter(
          "temperature must be non-negative, got " + temperature + ".", field, temperature);
    }
    if (temperature > 2) {
      throw EngineApiException.parameter(
          "temperature must be in [0, 2], got " + temperature + ".", field, temperature);
    }
    return temperature;
  }

  private void checkCuts() throws EngineApiException {
    double topP = number("top_p", 1);
    if (topP <= 0 || topP > 1) {
      throw EngineApiException.parameter("top_p must be in (0, 1], got " + topP + ".", "top_p", topP);
    }
    Integer topK = body.integer("top_k");
    if (topK != null && topK < -1) {
      throw EngineApiException.badRequest("top_k must be 0 (disable), or at least 1, got " + topK + ".");
    }
    double minP = number("min_p", 0);
    if (minP < 0 || minP > 1) {
      throw EngineApiException.badRequest("min_p must be in [0, 1], got " + minP + ".");
    }
  }

  private double number(String field, double otherwise) throws EngineApiException {
    Double value = body.number(field);
    return value == null ? otherwise : value;
  }

  private StopConditions stops(String field) throws EngineApiException {
    JsonNode given = body.get(field);
    JsonNode tokens = body.get("stop_token_ids");
    if (given == null && tokens == null) {
      return StopConditions.NONE;
    }
    List<String> texts = new ArrayList<>();
    if (given != null && given.isTextual()) {
      texts.add(given.textValue());
    } else if (given != null) {
      if (!given.isArray()) {
        throw body.invalid("string_type", field, "Input should be a valid string");
      }
      if (given.size() > MOST_STOPS) {
        throw body.invalid(
            "too_long", field,
            "List should have at most " + MOST_STOPS + " items after validation, not " + given.size());
      }
      for (int i = 0; i < given.size(); i++) {
        if (!given.get(i).isTextual()) {
          throw RequestBody.invalid(
              "string_type", field + "." + i, "Input should be a valid string", given.get(i));
        }
        texts.add(given.get(i).textValue());
      }
    }
    return new StopConditions(texts, stopTokens(tokens), body.flag("include_stop_str_in_output"));
  }

  private Set<Integer> stopTokens(@Nullable JsonNode tokens) throws EngineApiException {
    if (tokens == null) {
      return Set.of();
    }
    if (!tokens.isArray()) {
      throw body.invalid("list_type", "stop_token_ids", "Input should be a valid list");
    }
    Set<Integer> ids = new TreeSet<>();
    for (int i = 0; i < tokens.size(); i++) {
      if (!tokens.get(i).isIntegralNumber()) {
        throw RequestBody.invalid(
            "int_parsing", "stop_token_ids." + i,
            "Input should be a valid integer, unable to parse string as an integer", tokens.get(i));
      }
      ids.add((int) tokens.get(i).longValue());
    }
    return ids;
  }
}
