package io.kvasir.gateway.error;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.execution.dialect.ErrorEvent;
import io.kvasir.execution.dialect.MessagesTranslation;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Response;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** The format of an API's errors and keep-alives. */
public enum ErrorFormat {
  /** {@code {"error":{"message","type","param","code"}}}. */
  OPENAI,
  /** {@code {"type":"error","error":{"type","message"},"request_id"}}, and the id in a header. */
  ANTHROPIC;

  private static final String MESSAGES = ApiPath.MESSAGES.path();
  private static final String ANTHROPIC_VERSION = "anthropic-version";
  private static final JsonMapper JSON = new JsonMapper();
  private static final byte[] COMMENT = ": keep-alive\n\n".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] PING =
      "event: ping\ndata: {\"type\":\"ping\"}\n\n".getBytes(StandardCharsets.US_ASCII);

  /** The format that clients of a path expect. */
  public static ErrorFormat forPath(String path) {
    if (GatewayPaths.isDryRun(path)) {
      return forPath(GatewayPaths.dryRunTarget(path));
    }
    return path.equals(MESSAGES) || path.startsWith(MESSAGES + "/") ? ANTHROPIC : OPENAI;
  }

  /** The format that the client of a request expects: models are listed to clients of both APIs. */
  public static ErrorFormat of(String path, Headers headers) {
    return GatewayPaths.isOfModels(path) && headers.has(ANTHROPIC_VERSION) ? ANTHROPIC : forPath(path);
  }

  /** An answer's headers with the request's id, by the API's name for it, too. */
  public Headers identified(Headers headers, String requestId) {
    Headers.Builder identified = headers.toBuilder().set(RequestIds.HEADER, requestId);
    return (this == ANTHROPIC ? identified.set("request-id", requestId) : identified).build();
  }

  /**
   * An error's answer.
   *
   * @param requestId null where the answer is a part of another
   */
  public Response.Buffered answer(ApiError error, @Nullable String requestId) {
    ObjectNode body = body(error, requestId);
    Headers.Builder headers = Headers.builder().add("Content-Type", "application/json");
    GateRefusal refusal = error.refusal();
    if (refusal != null) {
      body.withObject("/error").set("refusal", refusal.json(error.isRetryable()));
      headers.add(GateRefusal.HEADER, refusal.header(error.isRetryable()));
      DropReason drop = refusal.drop();
      if (drop != null) {
        headers.add(DropReason.HEADER, drop.label());
      }
    }
    if (error.retryAfterMillis() > 0) {
      headers
          .add("Retry-After", Long.toString(Math.ceilDiv(error.retryAfterMillis(), 1000)))
          .add("retry-after-ms", Long.toString(error.retryAfterMillis()));
      if (error.type() != null) {
        // Refused by a limit, which this time is known to end.
        headers.add("x-should-retry", "true");
      }
    } else if (error.retryAfterMillis() == ApiError.NEVER) {
      headers.add("x-should-retry", "false");
    }
    if (error.status() == 401) {
      headers.add("WWW-Authenticate", "Bearer");
    }
    return new Response.Buffered(error.status(), headers.build(), body.toString().getBytes(StandardCharsets.UTF_8));
  }

  private ObjectNode body(ApiError error, @Nullable String requestId) {
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    switch (this) {
      case OPENAI -> body.putObject("error")
          .put("message", error.message())
          .put("type", error.type() == null ? openAiType(error.status()) : error.type())
          .put("param", error.param())
          .put("code", error.code());
      case ANTHROPIC -> {
        body.put("type", "error").putObject("error")
            .put("type", MessagesTranslation.errorType(error.status()))
            .put("message", error.message());
        if (requestId != null) {
          body.put("request_id", requestId);
        }
      }
    }
    return body;
  }

  /**
   * An error as an event inside a stream whose head has been sent, and the stream's end.
   *
   * @param answer the answer it would have been otherwise, perhaps a worker's
   */
  public byte[] event(String path, Response.Buffered answer) {
    ObjectNode theirs = object(answer.body());
    ObjectNode body = theirs != null ? theirs
        : body(ApiError.of(
            answer.status(), "worker_failed", "The worker answered with status " + answer.status() + "."), null);
    return ErrorEvent.only(
        this == ANTHROPIC ? ApiPath.MESSAGES : path.equals(ApiPath.RESPONSES.path()) ? ApiPath.RESPONSES : ApiPath.CHAT,
        body);
  }

  /** An empty event or comment that may stand between two events of a stream. */
  public byte[] keepAlive() {
    return switch (this) {
      case OPENAI -> COMMENT.clone();
      case ANTHROPIC -> PING.clone();
    };
  }

  private static @Nullable ObjectNode object(byte[] body) {
    try {
      return JSON.readTree(body) instanceof ObjectNode object ? object : null;
    } catch (IOException e) {
      return null;
    }
  }

  private static String openAiType(int status) {
    return switch (status) {
      case 403 -> "permission_error";
      case 404 -> "not_found_error";
      case 429 -> "rate_limit_error";
      // The method, encoding and version of HTTP are the client's.
      case 501, 505 -> "invalid_request_error";
      // 401, too: OpenAI's own API has it so.
      default -> status < 500 ? "invalid_request_error" : "server_error";
    };
  }
}
