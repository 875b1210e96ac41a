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
 * worker}, {@code session} (the key, or its hash as records have it), {@code request}, {@code trace} and {@code limit}
 * (20) narrow it down. Thread-safe.
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
        AdminRoute.get("/admin/decisions", this::recent)
            .with("model", "worker", "session", "request", "trace", "limit"),
        AdminRoute.get("/admin/decisions/{id}", this::one));
  }

  private AdminResponse recent(AdminRequest request) throws AdminException {
    ObjectNode body = object();
    ArrayNode decisions = body.putArray("decisions");
    for (DecisionLog.Entry entry : log.recent(decision -> fits(decision, request), request.limit(LIMIT, MOST))) {
      decisions.add(shown(entry));
    }
    return AdminResponse.ok(body);
  }

  private AdminResponse one(AdminRequest request) throws AdminException {
    String id = request.variable("id");
    return AdminResponse.ok(shown(log.find(id).orElseThrow(
        () -> AdminException.of(
            404,
            "decision '" + id + "' is none of the last that this node's cells recorded;"
                + " GET /admin/decisions has those, of all nodes the one that decided"))));
  }

  private static ObjectNode shown(DecisionLog.Entry entry) {
    ObjectNode decision = object().put("id", entry.id()).setAll(DecisionJson.of(entry.decision()));
    ArrayNode outcomes = decision.putArray("outcomes");
    entry.outcomes().forEach(outcome -> outcomes.add(DecisionJson.of(outcome)));
    return decision;
  }

  private static boolean fits(DecisionRecord decision, AdminRequest filter) {
    String worker = filter.parameter("worker");
    String session = filter.parameter("session");
    return fits(decision.model(), filter.parameter("model"))
        && fits(decision.requestId(), filter.parameter("request"))
        && fits(decision.traceId(), filter.parameter("trace"))
        && (worker == null || decision.plan().stream().anyMatch(step -> step.worker().equals(worker)))
        && (session == null || decision.slotContained(Slots.SESSION_KEY.name(), session));
  }

  private static boolean fits(@Nullable String value, @Nullable String expected) {
    return expected == null || expected.equals(value);
  }
}
