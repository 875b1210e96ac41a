package io.kvasir.prompt;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/** Requests with bodies of JSON with single quotes. */
public final class Bodies {
  private static final ObjectMapper JSON = new ObjectMapper();

  private Bodies() {}

  public static JsonNode json(String text) {
    return parse(text.replace('\'', '"'));
  }

  public static JsonNode parse(String text) {
    try {
      return JSON.readTree(text);
    } catch (JsonProcessingException e) {
      throw new AssertionError(e);
    }
  }

  /** The prompt of a request without a sender. */
  static Prompt prepare(Prompts prompts, Api api, String model, JsonNode body) {
    return prompts.prepare(new PromptRequest(api, model, body, false, null), prompts.limiter().unlimited());
  }

  /** The prompt of a request that may have a chat template. */
  static Prompt prepareGranted(Prompts prompts, Api api, String model, JsonNode body) {
    return prompts.prepare(new PromptRequest(api, model, body, true, null), prompts.limiter().unlimited());
  }

  /** The token ids of a request's prompt. */
  static int @Nullable [] tokens(Prompts prompts, Api api, String model, JsonNode body, boolean templateGranted) {
    return prompts.tokens(new PromptRequest(api, model, body, templateGranted, null), () -> { });
  }

  public static ObjectNode object(String text) {
    return (ObjectNode) json(text);
  }
}
