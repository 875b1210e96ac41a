package io.kvasir.gateway;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.execution.Headers;
import io.kvasir.gateway.http.Answer;
import java.nio.charset.StandardCharsets;

/** How an API words its errors. */
enum ErrorShape {
  /** {@code {"error":{"message","type","param","code"}}}. */
  OPENAI,
  /** {@code {"type":"error","error":{"type","message"}}}. */
  ANTHROPIC;

  /** The shape that callers of a path expect. */
  static ErrorShape at(String path) {
    if (RouteHandler.takes(path)) {
      return at(RouteHandler.asked(path));
    }
    return path.equals("/v1/messages") || path.startsWith("/v1/messages/") ? ANTHROPIC : OPENAI;
  }

  /** An error's answer. */
  Answer.Whole answer(ApiError error) {
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    switch (this) {
      case OPENAI -> body.putObject("error")
          .put("message", error.message())
          .put("type", openAiType(error.status()))
          .put("param", error.param())
          .put("code", error.code());
      case ANTHROPIC -> body.put("type", "error").putObject("error")
          .put("type", anthropicType(error.status()))
          .put("message", error.message());
    }
    Headers.Builder headers = Headers.builder().add("Content-Type", "application/json");
    if (error.retryAfterSeconds() > 0) {
      headers.add("Retry-After", Integer.toString(error.retryAfterSeconds()));
    }
    return new Answer.Whole(error.status(), headers.build(), body.toString().getBytes(StandardCharsets.UTF_8));
  }

  private static String openAiType(int status) {
    return switch (status) {
      case 401 -> "authentication_error";
      case 403 -> "permission_error";
      case 404 -> "not_found_error";
      case 429 -> "rate_limit_error";
      default -> status < 500 ? "invalid_request_error" : "server_error";
    };
  }

  private static String anthropicType(int status) {
    return switch (status) {
      case 401 -> "authentication_error";
      case 403 -> "permission_error";
      case 404 -> "not_found_error";
      case 413 -> "request_too_large";
      case 429 -> "rate_limit_error";
      case 503 -> "overloaded_error";
      case 504 -> "timeout_error";
      default -> status < 500 ? "invalid_request_error" : "api_error";
    };
  }
}
