package io.kvasir.app;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.Cells;
import io.kvasir.events.KvBatch;
import io.kvasir.events.NatsEvents;
import io.kvasir.events.PushEvents;
import io.kvasir.events.Pushed;
import io.kvasir.execution.Headers;
import io.kvasir.gateway.http.Answer;
import io.kvasir.gateway.http.Exchange;
import io.kvasir.gateway.http.Handler;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * {@code POST /v1/events/POD}, with {@code ?rank=N} for a pod of several: takes pushed cache events. What arrives at a
 * node where the worker is not at home is passed on to the one where it is. Everything else goes to the gateway.
 */
final class PushHandler implements Handler {
  /** Begins the paths of pushes. */
  static final String PATH = "/v1/events/";

  private static final String FORWARDED = "Kvasir-Forwarded";
  private static final String BEARER = "Bearer ";
  private static final Headers JSON = Headers.of("Content-Type", "application/json");

  private final Handler gateway;
  private final PushEvents push;
  private final PushHomes homes;
  private final Cells cells;

  PushHandler(Handler gateway, PushEvents push, PushHomes homes, Cells cells) {
    this.gateway = gateway;
    this.push = push;
    this.homes = homes;
    this.cells = cells;
  }

  @Override
  public Answer handle(Exchange exchange) throws Exception {
    if (!exchange.path().startsWith(PATH)) {
      return gateway.handle(exchange);
    }
    if (!exchange.method().equals("POST")) {
      return with(error(405, PATH + " does not take " + exchange.method() + ", but POST"), "Allow", "POST");
    }
    String worker = worker(exchange);
    String header = exchange.headers().first(NatsEvents.SEQUENCE);
    long sequence = KvBatch.UNSEQUENCED;
    if (header != null) {
      if (!header.strip().matches("\\d{1,18}")) {
        return error(400, NatsEvents.SEQUENCE + ": has to be a whole number of at least 0, not '" + header + "'");
      }
      sequence = Long.parseLong(header.strip());
    }
    return switch (push.push(worker, key(exchange.headers()), sequence, exchange.body())) {
      case Pushed.Taken taken -> taken(taken);
      case Pushed.Full _ -> again(429, "the queue of " + worker + " is full; push this again in a moment");
      case Pushed.Forbidden _ -> with(
          error(401, "pushes for " + worker + " need Authorization: Bearer KEY, with the key of its configuration"),
          "WWW-Authenticate",
          "Bearer");
      case Pushed.Malformed(int line, String what) -> error(400, "line " + line + ": " + what + "; nothing was taken");
      case Pushed.NotHere _ -> elsewhere(worker, exchange);
    };
  }

  @Override
  public Answer failure(String target, int status, String message) {
    return gateway.failure(target, status, message);
  }

  private Answer elsewhere(String worker, Exchange exchange) throws InterruptedException {
    boolean forwarded = exchange.headers().first(FORWARDED) != null;
    Answer answer = forwarded ? null : homes.forward(worker, exchange, FORWARDED);
    if (answer != null) {
      return answer;
    }
    boolean known = cells.workers().stream().anyMatch(status -> status.worker().id().equals(worker));
    return known
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

  private static Answer taken(Pushed.Taken taken) {
    return answer(
        202,
        JsonNodeFactory.instance.objectNode()
            .put("batches", taken.batches())
            .put("next", taken.next())
            .put("complete", taken.complete()));
  }

  private static Answer again(int status, String message) {
    return with(error(status, message), "Retry-After", "1");
  }

  private static Answer.Whole error(int status, String message) {
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    body.putObject("error").put("message", message);
    return answer(status, body);
  }

  private static Answer.Whole answer(int status, ObjectNode body) {
    return new Answer.Whole(status, JSON, body.toString().getBytes(StandardCharsets.UTF_8));
  }

  private static Answer with(Answer.Whole answer, String header, String value) {
    return new Answer.Whole(answer.status(), answer.headers().toBuilder().add(header, value).build(), answer.body());
  }
}
