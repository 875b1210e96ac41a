package io.kvasir.gateway.admin.tenants;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.gateway.admin.AdminResource;
import io.kvasir.gateway.admin.AdminResponse;
import io.kvasir.gateway.admin.AdminRoute;
import io.kvasir.gateway.admin.AdminTopic;
import io.kvasir.gateway.admin.vitals.ClusterVitals.Answers;
import io.kvasir.gateway.traffic.TenantTraffic;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * {@code /admin/tenants}: the traffic of tenants through all nodes, of those with most of it one by one and of the
 * others together, with their limits. Thread-safe.
 */
public final class TenantsHandler implements AdminResource {
  /** Tenants shown one by one. */
  private static final int MOST = 50;

  private final Supplier<Answers<List<TenantReport>>> nodes;

  /**
   * Over the nodes of a cluster.
   *
   * @param nodes what each of them tells of its tenants
   */
  public TenantsHandler(Supplier<Answers<List<TenantReport>>> nodes) {
    this.nodes = nodes;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(AdminRoute.get("/admin/tenants", _ -> AdminResponse.ok(tenants())));
  }

  /** The same, to be watched. */
  public AdminTopic topic() {
    return new AdminTopic("tenants", Map.of("tenants", List.of("tenant")), this::tenants);
  }

  private ObjectNode tenants() {
    Answers<List<TenantReport>> answers = nodes.get();
    ObjectNode body = object().put("scope", "cluster").put("nodes", answers.byNode().size());
    answers.missing().forEach(body.putArray("missing_nodes")::add);
    ArrayNode tenants = body.putArray("tenants");
    TenantReport.sums(answers.byNode().values(), MOST).forEach(report -> put(tenants.addObject(), report));
    return body;
  }

  private static void put(ObjectNode entry, TenantReport report) {
    TenantTraffic.Figures figures = report.figures();
    TenantTraffic.Totals totals = figures.totals();
    entry
        .put("tenant", TenantTraffic.nameOf(figures.tenant()))
        .put("requests_per_s", Math.round(figures.requestsPerSecond() * 100) / 100.0)
        .put("in_flight", figures.inFlight())
        .put("refused", totals.refused())
        .put("prompt_tokens", totals.promptTokens())
        .put("cached_tokens", totals.cachedTokens())
        .put("output_tokens", totals.outputTokens());
    if (totals.streams() > 0) {
      entry.put("ttft_ms", Math.round(1e5 * totals.firstTokenSeconds() / totals.streams()) / 100.0);
    } else {
      entry.putNull("ttft_ms");
    }
    ArrayNode limits = entry.putArray("limits");
    for (TenantReport.LimitUse use : report.limits()) {
      limits.addObject().put("limit", use.limit()).put("used", use.used()).put("of", use.of());
    }
  }
}
