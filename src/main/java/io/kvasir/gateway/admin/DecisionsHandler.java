package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminJson.answer;
import static io.kvasir.gateway.admin.AdminJson.error;
import static io.kvasir.gateway.admin.AdminJson.object;
import static io.kvasir.gateway.admin.AdminJson.wrongMethod;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.gateway.http.Answer;
import io.kvasir.gateway.http.Exchange;
import io.kvasir.gateway.http.Handler;
import io.kvasir.routing.Slots;
import io.kvasir.telemetry.DecisionJson;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionRecord;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * {@code GET /admin/decisions}: the last decisions that this node's cells recorded, newest first; {@code model}, {@code
 * worker}, {@code session} (the key, or its hash as records have it), {@code request} and {@code limit} (20) narrow it
 * down. Thread-safe.
 */
public final class DecisionsHandler implements Handler {
  /** The path. */
  public static final String PATH = "/admin/decisions";

  private static final Set<String> PARAMETERS = Set.of("model", "worker", "session", "request", "limit");
  private static final int LIMIT = 20;
  private static final int MOST = 1000;

  private final DecisionLog log;

  /** A handler over a node's log, which stays its owner's to close. */
  public DecisionsHandler(DecisionLog log) {
    this.log = log;
  }

  @Override
  public Answer handle(Exchange exchange) {
    if (!exchange.path().equals(PATH)) {
      return error(404, "there is nothing at %s; decisions are at %s".formatted(exchange.path(), PATH));
    }
    if (!exchange.method().equals("GET")) {
      return wrongMethod(exchange, "GET");
    }
    try {
      Map<String, String> query = query(exchange.target());
      ObjectNode body = object();
      ArrayNode decisions = body.putArray("decisions");
      for (DecisionLog.Entry entry : log.recent(decision -> fits(decision, query), limit(query))) {
        ObjectNode decision = DecisionJson.of(entry.decision());
        ArrayNode outcomes = decision.putArray("outcomes");
        entry.outcomes().forEach(outcome -> outcomes.add(DecisionJson.of(outcome)));
        decisions.add(decision);
      }
      return answer(200, body);
    } catch (IllegalArgumentException wrong) {
      return error(400, String.valueOf(wrong.getMessage()));
    }
  }

  @Override
  public Answer failure(String target, int status, String message) {
    return error(status, message);
  }

  private static boolean fits(DecisionRecord decision, Map<String, String> query) {
    String worker = query.get("worker");
    String session = query.get("session");
    return decision.model().equals(query.getOrDefault("model", decision.model()))
        && decision.requestId().equals(query.getOrDefault("request", decision.requestId()))
        && (worker == null || decision.plan().stream().anyMatch(step -> step.worker().equals(worker)))
        && (session == null || decision.held(Slots.SESSION_KEY.name(), session));
  }

  private static int limit(Map<String, String> query) {
    String limit = query.get("limit");
    if (limit == null) {
      return LIMIT;
    }
    if (limit.matches("[1-9]\\d{0,3}") && Integer.parseInt(limit) <= MOST) {
      return Integer.parseInt(limit);
    }
    throw new IllegalArgumentException("limit has to be a number from 1 to " + MOST + ", is " + limit);
  }

  private static Map<String, String> query(String target) {
    Map<String, String> query = new HashMap<>();
    int at = target.indexOf('?');
    if (at < 0) {
      return query;
    }
    for (String pair : target.substring(at + 1).split("&", -1)) {
      int equals = pair.indexOf('=');
      String name = URLDecoder.decode(equals < 0 ? pair : pair.substring(0, equals), StandardCharsets.UTF_8);
      if (!PARAMETERS.contains(name)) {
        throw new IllegalArgumentException(
            "there is no parameter '%s'; there are %s"
                .formatted(name, String.join(", ", PARAMETERS.stream().sorted().toList())));
      }
      query.put(name, equals < 0 ? "" : URLDecoder.decode(pair.substring(equals + 1), StandardCharsets.UTF_8));
    }
    return query;
  }
}
