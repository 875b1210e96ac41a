package io.kvasir.gateway;

import io.kvasir.prompt.Api;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The APIs that are forwarded to a worker, told apart by their paths. */
enum ApiPath {
  CHAT("chat", "/v1/chat/completions", Api.CHAT, true),
  COMPLETIONS("completions", "/v1/completions", Api.COMPLETIONS, true),
  EMBEDDINGS("embeddings", "/v1/embeddings", Api.EMBEDDINGS, true),
  RESPONSES("responses", "/v1/responses", Api.RESPONSES, true),
  MESSAGES("messages", "/v1/messages", Api.MESSAGES, true),
  COUNT_TOKENS("count_tokens", "/v1/messages/count_tokens", null, true),
  TOKENIZE("tokenize", "/tokenize", null, false),
  DETOKENIZE("detokenize", "/detokenize", null, false),
  /** What belongs to one stored response: read, cancelled or deleted where it was made. */
  STORED_RESPONSE("stored_response", null, null, false),
  /** Any other path: forwarded as it is, whatever it means. */
  OTHER("other", null, null, false);

  private static final String STORED = RESPONSES.path + "/";
  private static final Map<String, ApiPath> BY_PATH = Arrays.stream(values())
      .filter(api -> api.path != null)
      .collect(Collectors.toUnmodifiableMap(api -> String.valueOf(api.path), Function.identity()));

  /** Inference that engines offer outside {@code /v1}; everything else there stays the engine's own. */
  private static final Set<String> OUTSIDE_V1 = Set.of(
      "/rerank", "/v2/rerank", "/score", "/classify", "/pooling", "/generate", "/inference/v1/generate");

  private final String label;
  private final @Nullable String path;
  private final @Nullable Api prompt;
  private final boolean requiresModel;

  ApiPath(String label, @Nullable String path, @Nullable Api prompt, boolean named) {
    this.label = label;
    this.path = path;
    this.prompt = prompt;
    this.requiresModel = named;
  }

  /** The API at a path, null when there is none. */
  static @Nullable ApiPath at(String path) {
    ApiPath api = BY_PATH.get(path);
    if (api != null) {
      return api;
    }
    return path.startsWith(STORED) && path.length() > STORED.length() ? STORED_RESPONSE
        : path.startsWith("/v1/") || OUTSIDE_V1.contains(path) ? OTHER
        : null;
  }

  /** The id in a {@link #STORED_RESPONSE} path: {@code /v1/responses/ID}, {@code /v1/responses/ID/cancel} … */
  static String storedId(String path) {
    int end = path.indexOf('/', STORED.length());
    return path.substring(STORED.length(), end < 0 ? path.length() : end);
  }

  /** Its path, null when it has several. */
  @Nullable String path() {
    return path;
  }

  /** Whether its answers come token by token when a request asks for that. */
  boolean streams() {
    return hasTerminator();
  }

  /** In metrics and logs. */
  String label() {
    return label;
  }

  /** How its requests carry a prompt, null when they carry none that decides where they go. */
  @Nullable Api prompt() {
    return prompt;
  }

  /** Whether its requests must name their model. */
  boolean requiresModel() {
    return requiresModel;
  }

  /** Whether only POST makes sense. */
  boolean postOnly() {
    return path != null;
  }

  /** Whether its streams end with a terminator. */
  boolean hasTerminator() {
    return prompt != null && this != EMBEDDINGS;
  }

  /** Whether a request may be sent again elsewhere after a worker failed in the middle. */
  boolean isRetryable(String method) {
    return path != null || method.equals("GET") || method.equals("HEAD");
  }
}
