package io.kvasir.gateway;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.Cells;
import io.kvasir.events.KvBatch;
import io.kvasir.events.PushEvents;
import io.kvasir.events.PushResult;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ErrorFormat;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * {@code POST /v1/events/POD}, with {@code ?rank=N} for a pod of several ranks: takes pushed cache events. A push for a
 * worker whose events another node reads is forwarded there. Thread-safe.
 */
final class EventsHandler {
  private static final String PATH = "/v1/events/";
  private static final String RANK = "?rank=";
  private static final String BEARER = "Bearer ";
  private static final Headers JSON = Headers.of("Content-Type", "application/json");

  private final PushEvents events;
  private final EventForwarder forwarder;
  private final Cells cells;

  EventsHandler(PushEvents events, EventForwarder forwarder, Cells cells) {
    this.events = events;
    this.forwarder = forwarder;
    this.cells = cells;
  }

  static boolean matches(String path) {
    return path.startsWith(PATH);
  }

  Response answer(Exchange exchange) throws InterruptedException {
    String worker;
    try {
      worker = worker(exchange);
    } catch (IllegalArgumentException e) {
      return error(400, "invalid_path", "The pod's name in the path is not percent-encoded: " + exchange.path());
    }
    String header = exchange.headers().first(KvBatch.SEQUENCE_HEADER);
    long sequence = KvBatch.UNSEQUENCED;
    if (header != null) {
      if (!header.strip().matches("\\d{1,18}")) {
        return error(
            400,
            "invalid_sequence",
            KvBatch.SEQUENCE_HEADER + ": has to be a whole number of at least 0, not '" + header + "'");
      }
      sequence = Long.parseLong(header.strip());
    }
    return switch (events.push(worker, key(exchange.headers()), sequence, exchange.body())) {
      case PushResult.Accepted accepted -> accepted(accepted);
      case PushResult.Full _ ->
          later(429, "queue_full", "the queue of " + worker + " is full; push this again in a moment");
      case PushResult.Forbidden _ -> forbidden(worker);
      case PushResult.Malformed(int line, String what) ->
          error(400, "invalid_events", "line " + line + ": " + what + "; nothing was taken");
      case PushResult.NotSubscribed _ -> forward(worker, exchange);
    };
  }

  private Response forward(String worker, Exchange exchange) throws InterruptedException {
    if (!cells.workerIds().contains(worker)) {
      // In the words for a wrong key: names of workers are not for everybody.
      return forbidden(worker);
    }
    Response answer = exchange.headers().has(EventForwarder.FORWARDED) ? null : forwarder.forward(worker, exchange);
    return answer != null
        ? answer
        : later(
            503,
            "events_not_read",
            worker + " takes no pushed events now: its cell moves, or its events have no source = push");
  }

  private static String worker(Exchange exchange) {
    String pod =
        URLDecoder.decode(exchange.path().substring(PATH.length()).replace("+", "%2B"), StandardCharsets.UTF_8);
    String target = exchange.target();
    int rank = target.indexOf(RANK);
    return rank < 0 ? pod : pod + "#" + target.substring(rank + RANK.length());
  }

  private static @Nullable String key(Headers headers) {
    String authorization = headers.first("Authorization");
    return authorization != null && authorization.startsWith(BEARER)
        ? authorization.substring(BEARER.length()).strip()
        : null;
  }

  private static Response accepted(PushResult.Accepted accepted) {
    ObjectNode body = JsonNodeFactory.instance.objectNode()
        .put("batches", accepted.batches())
        .put("next", accepted.next())
        .put("complete", accepted.complete());
    return new Response.Buffered(202, JSON, body.toString().getBytes(StandardCharsets.UTF_8));
  }

  private static Response forbidden(String worker) {
    Response answer = error(
        401, "invalid_key",
        "no worker '" + worker + "' takes pushes with this key; they need the name of a pod whose events have"
            + " source = push, and \"Authorization: Bearer KEY\" with the key of its configuration");
    return answer.with(answer.headers().toBuilder().add("WWW-Authenticate", "Bearer").build());
  }

  private static Response later(int status, String code, String message) {
    return ErrorFormat.OPENAI.answer(ApiError.of(status, code, message).retryAfter(1), null);
  }

  private static Response error(int status, String code, String message) {
    return ErrorFormat.OPENAI.answer(ApiError.of(status, code, message), null);
  }
}
