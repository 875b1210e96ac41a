package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.routing.Slots;
import io.kvasir.telemetry.DecisionJson;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionRecord;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * {@code /admin/decisions}: the last decisions that this node's cells recorded, newest first; {@code model}, {@code
 * worker}, {@code session} (the key, or its hash as records have it), {@code request} and {@code limit} (20) narrow it
 * down. Thread-safe.
 */
public final class DecisionsHandler implements AdminResource {
  private static final int LIMIT = 20;
  private static final int MOST = 1000;

  private final DecisionLog log;

  /** Over a node's log, which stays its owner's to close. */
  public DecisionsHandler(DecisionLog log) {
    this.log = log;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(
        AdminRoute.get("/admin/decisions", this::recent).with("model", "worker", "session", "request", "limit"));
  }

  private AdminResponse recent(AdminRequest request) throws AdminException {
    ObjectNode body = object();
    ArrayNode decisions = body.putArray("decisions");
    for (DecisionLog.Entry entry : log.recent(decision -> fits(decision, request), limit(request))) {
      ObjectNode decision = DecisionJson.of(entry.decision());
      ArrayNode outcomes = decision.putArray("outcomes");
      entry.outcomes().forEach(outcome -> outcomes.add(DecisionJson.of(outcome)));
      decisions.add(decision);
    }
    return AdminResponse.ok(body);
  }

  private static boolean fits(DecisionRecord decision, AdminRequest filter) {
    String worker = filter.parameter("worker");
    String session = filter.parameter("session");
    return fits(decision.model(), filter.parameter("model"))
        && fits(decision.requestId(), filter.parameter("request"))
        && (worker == null || decision.plan().stream().anyMatch(step -> step.worker().equals(worker)))
        && (session == null || decision.slotContained(Slots.SESSION_KEY.name(), session));
  }

  private static boolean fits(String value, @Nullable String expected) {
    return expected == null || expected.equals(value);
  }

  private static int limit(AdminRequest request) throws AdminException {
    String limit = request.parameter("limit");
    if (limit == null) {
      return LIMIT;
    }
    if (limit.matches("[1-9]\\d{0,3}") && Integer.parseInt(limit) <= MOST) {
      return Integer.parseInt(limit);
    }
    throw AdminException.invalid("limit", "limit has to be a number from 1 to " + MOST + ", not '" + limit + "'");
  }
}
