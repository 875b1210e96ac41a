package io.kvasir.app.node;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.Cells;
import io.kvasir.events.KvBatch;
import io.kvasir.events.PushEvents;
import io.kvasir.events.PushResult;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.HttpHandler;
import io.kvasir.http.server.Response;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * {@code POST /v1/events/POD}, with {@code ?rank=N} for a pod of several: takes pushed cache events. What arrives at a
 * node where the worker is not at home is passed on to the one where it is. Everything else goes to the gateway.
 */
final class PushHandler implements HttpHandler {
  /** Begins the paths of pushes. */
  static final String PATH = "/v1/events/";

  private static final String FORWARDED = "Kvasir-Forwarded";
  private static final String BEARER = "Bearer ";
  private static final Headers JSON = Headers.of("Content-Type", "application/json");

  private final HttpHandler gateway;
  private final PushEvents push;
  private final PushForwarder homes;
  private final Cells cells;

  PushHandler(HttpHandler gateway, PushEvents push, PushForwarder homes, Cells cells) {
    this.gateway = gateway;
    this.push = push;
    this.homes = homes;
    this.cells = cells;
  }

  @Override
  public Response handle(Exchange exchange) throws Exception {
    if (!exchange.path().startsWith(PATH)) {
      return gateway.handle(exchange);
    }
    if (!exchange.method().equals("POST")) {
      return with(error(405, PATH + " does not take " + exchange.method() + ", but POST"), "Allow", "POST");
    }
    String worker = worker(exchange);
    String header = exchange.headers().first(KvBatch.SEQUENCE_HEADER);
    long sequence = KvBatch.UNSEQUENCED;
    if (header != null) {
      if (!header.strip().matches("\\d{1,18}")) {
        return error(400, KvBatch.SEQUENCE_HEADER + ": has to be a whole number of at least 0, not '" + header + "'");
      }
      sequence = Long.parseLong(header.strip());
    }
    return switch (push.push(worker, key(exchange.headers()), sequence, exchange.body())) {
      case PushResult.Accepted taken -> taken(taken);
      case PushResult.Full _ -> again(429, "the queue of " + worker + " is full; push this again in a moment");
      case PushResult.Forbidden _ -> with(
          error(401, "pushes for " + worker + " need Authorization: Bearer KEY, with the key of its configuration"),
          "WWW-Authenticate",
          "Bearer");
      case PushResult.Malformed(int line, String what) ->
          error(400, "line " + line + ": " + what + "; nothing was taken");
      case PushResult.NotSubscribed _ -> elsewhere(worker, exchange);
    };
  }

  @Override
  public Response failure(String target, int status, String message) {
    return gateway.failure(target, status, message);
  }

  private Response elsewhere(String worker, Exchange exchange) throws InterruptedException {
    boolean forwarded = exchange.headers().first(FORWARDED) != null;
    Response answer = forwarded ? null : homes.forward(worker, exchange, FORWARDED);
    if (answer != null) {
      return answer;
    }
    return cells.workerIds().contains(worker)
        ? again(503, worker + " takes no pushed events now: its cell moves, or its events have no source = push")
        : error(404, "there is no worker '" + worker + "'; GET /admin/workers on the management port lists them");
  }

  private static String worker(Exchange exchange) {
    String pod =
        URLDecoder.decode(exchange.path().substring(PATH.length()).replace("+", "%2B"), StandardCharsets.UTF_8);
    String target = exchange.target();
    int rank = target.indexOf("?rank=");
    return rank < 0 ? pod : pod + "#" + target.substring(rank + "?rank=".length());
  }

  private static @Nullable String key(Headers headers) {
    String authorization = headers.first("Authorization");
    return authorization != null && authorization.startsWith(BEARER)
        ? authorization.substring(BEARER.length()).strip()
        : null;
  }

  private static Response taken(PushResult.Accepted taken) {
    return answer(
        202,
        JsonNodeFactory.instance.objectNode()
            .put("batches", taken.batches())
            .put("next", taken.next())
            .put("complete", taken.complete()));
  }

  private static Response again(int status, String message) {
    return with(error(status, message), "Retry-After", "1");
  }

  private static Response.Buffered error(int status, String message) {
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    body.putObject("error").put("message", message);
    return answer(status, body);
  }

  private static Response.Buffered answer(int status, ObjectNode body) {
    return new Response.Buffered(status, JSON, body.toString().getBytes(StandardCharsets.UTF_8));
  }

  private static Response with(Response.Buffered answer, String header, String value) {
    return new Response.Buffered(answer.status(), answer.headers().toBuilder().add(header, value).build(),
        answer.body());
  }
}
