package io.kvasir.app.node;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.gateway.admin.AdminRequest;
import io.kvasir.gateway.admin.AdminResource;
import io.kvasir.gateway.admin.AdminResponse;
import io.kvasir.gateway.admin.AdminRoute;
import io.kvasir.scale.FleetDemand;
import io.kvasir.scale.ScaleAdvice;
import io.kvasir.scale.live.ScaleReport;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The resource {@code /admin/scale}: how many workers models need. Thread-safe. */
final class ScaleAdmin implements AdminResource {
  private final @Nullable Supplier<ScaleReport> report;

  /** Over the advice, null when there is none. */
  ScaleAdmin(@Nullable Supplier<ScaleReport> report) {
    this.report = report;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(AdminRoute.get("/admin/scale", this::shown));
  }

  private AdminResponse shown(AdminRequest request) {
    ScaleReport now = report == null ? ScaleReport.NONE : report.get();
    ObjectNode body = JsonNodeFactory.instance.objectNode().put("enabled", report != null);
    ArrayNode targets = body.putArray("targets");
    now.targets().forEach(advice -> show(advice, targets.addObject()));
    ArrayNode cells = body.putArray("missing_cells");
    now.missingCells().forEach(cells::add);
    ArrayNode nodes = body.putArray("missing_nodes");
    now.missingNodes().forEach(nodes::add);
    return AdminResponse.ok(body);
  }

  private static void show(ScaleAdvice advice, ObjectNode shown) {
    FleetDemand demand = advice.demand();
    shown
        .put("model", advice.target().model())
        .put("role", advice.target().role().label())
        .put("desired", known(advice, advice.desired()))
        .put("now", known(advice, advice.now()))
        .put("ahead", known(advice, advice.ahead()))
        .put("reason", advice.reason())
        .put("active", demand.isActive())
        .put("workers", demand.workers())
        .put("ready", demand.ready())
        .put("prefill_load", rounded(demand.prefillPerSecond()))
        .put("prefill_owed_s", rounded(demand.owedSeconds()))
        .put("in_flight", demand.inFlight())
        .put("context_tokens", demand.contextTokens())
        .put("memory_load", rounded(demand.memoryUse()))
        .put("tokens_per_s", rounded(demand.tokensPerSecond()))
        .put("headroom", rounded(advice.headroom()))
        .put("waiting", demand.waiting())
        .put("wait_s", rounded(demand.waitSeconds()))
        .put("backlog_requests", demand.backlog().requests())
        .put("backlog_owed_s", rounded(demand.backlog().owedSeconds()))
        .put("backlog_oldest_s", rounded(demand.backlog().oldestSeconds()))
        .put("refused_per_s", rounded(demand.backlog().refusedPerSecond()));
  }

  private static @Nullable Integer known(ScaleAdvice advice, int workers) {
    return advice.isKnown() ? workers : null;
  }

  private static double rounded(double figure) {
    return Math.round(figure * 1e3) / 1e3;
  }
}
