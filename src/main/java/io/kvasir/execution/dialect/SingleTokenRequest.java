package io.kvasir.execution.dialect;

/** A request that lets its worker read the prompt and end: one token, no events, nothing that clients could ask for. */
final class SingleTokenRequest {
  private SingleTokenRequest() {}

  /** The client's request, bounded. Which field bounds it depends on the path. */
  static JsonMembers of(ClientRequest request) {
    JsonMembers body = request.members().with("stream", "false").without("stream_options");
    return switch (request.api()) {
      // Without it, vLLM keeps each response where it keeps any at all (VLLM_ENABLE_RESPONSES_API_STORE).
      case RESPONSES -> body.with("max_output_tokens", "1").with("store", "false");
      case TOKENS -> sampling(body);
      case null, default -> completion(body);
    };
  }

  /** {@code max_completion_tokens} wins over {@code max_tokens} where it is there. */
  private static JsonMembers completion(JsonMembers body) {
    JsonMembers bounded = body.with("max_tokens", "1").without("min_tokens", "min_completion_tokens");
    return body.has("max_completion_tokens") ? bounded.with("max_completion_tokens", "1") : bounded;
  }

  private static JsonMembers sampling(JsonMembers body) {
    JsonMembers given = body.object("sampling_params");
    JsonMembers bounded = (given == null ? JsonMembers.empty() : given).with("max_tokens", "1").without("min_tokens");
    return body.with("sampling_params", bounded.toString());
  }
}
