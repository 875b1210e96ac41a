package io.kvasir.telemetry;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A request in the access log. What is not known is left out of its JSON.
 *
 * @param request its ids
 * @param from who sent it
 * @param served what it was for and what served it
 * @param status the answer's, 499 where the client left first
 * @param tokens as the engine counted them
 * @param times how long it took
 */
public record AccessEntry(Ids request, Client from, Served served, int status, Tokens tokens, Times times) {
  /** Longer texts are cut: a client may name any model. */
  private static final int MAX_LENGTH = 256;

  /**
   * The ids of a request.
   *
   * @param traceId of its W3C trace context, null without one
   */
  public record Ids(String requestId, @Nullable String traceId) {}

  /**
   * The sender of a request.
   *
   * @param address of the connection
   * @param keyId null for the anonymous caller
   * @param tenant empty without one
   */
  public record Client(String address, @Nullable String keyId, String tenant) {}

  /**
   * What a request was for.
   *
   * @param model as it names it, null when it was refused before that was read
   * @param worker null when none served it
   * @param tries how many workers were tried
   */
  public record Served(
      String api, @Nullable String model, String profile, boolean stream, @Nullable String worker, int tries) {}

  /** Tokens, each below 0 where it is not known. */
  public record Tokens(int prompt, int cached, int predicted, int output) {
    /** None is known. */
    public static final Tokens UNKNOWN = new Tokens(-1, -1, -1, -1);
  }

  /** Nanoseconds, {@code ttft} (to the first token) below 0 where there was none. */
  public record Times(long ttft, long total) {}

  /**
   * The line.
   *
   * @param ended when the request ended, as ISO 8601 has it
   */
  ObjectNode json(String ended) {
    ObjectNode line = JsonNodeFactory.instance.objectNode();
    line.put("timestamp", ended).put("request_id", request.requestId());
    text(line, "trace_id", request.traceId());
    line.put("client", from.address());
    text(line, "key", from.keyId());
    text(line, "tenant", from.tenant());
    line.put("api", served.api());
    text(line, "model", served.model());
    text(line, "profile", served.profile());
    line.put("stream", served.stream());
    text(line, "worker", served.worker());
    line.put("tries", served.tries()).put("status", status);
    count(line, "prompt_tokens", tokens.prompt());
    count(line, "cached_tokens", tokens.cached());
    count(line, "predicted_tokens", tokens.predicted());
    count(line, "output_tokens", tokens.output());
    if (times.ttft() >= 0) {
      line.put("ttft_ms", TimeUnit.NANOSECONDS.toMillis(times.ttft()));
    }
    return line.put("total_ms", TimeUnit.NANOSECONDS.toMillis(times.total()));
  }

  private static void text(ObjectNode line, String field, @Nullable String value) {
    if (value != null && !value.isEmpty()) {
      line.put(field, value.length() <= MAX_LENGTH ? value : value.substring(0, MAX_LENGTH));
    }
  }

  private static void count(ObjectNode line, String field, int value) {
    if (value >= 0) {
      line.put(field, value);
    }
  }
}
