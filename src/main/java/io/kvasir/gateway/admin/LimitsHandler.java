package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.limits.LimitStatus;
import io.kvasir.limits.LimitStatus.QuotaStatus;
import io.kvasir.limits.Limiter;
import java.util.List;

/**
 * {@code /admin/limits}: how much of their limits the keys and tenants have used over all nodes, of which this node has
 * had requests. Thread-safe.
 */
public final class LimitsHandler implements AdminResource {
  private final Limiter limiter;

  /** Over a node's limiter. */
  public LimitsHandler(Limiter limiter) {
    this.limiter = limiter;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(AdminRoute.get("/admin/limits", _ -> AdminResponse.ok(statuses())));
  }

  private ObjectNode statuses() {
    ObjectNode body = object();
    ArrayNode limits = body.putArray("limits");
    for (LimitStatus status : limiter.statuses()) {
      ObjectNode limit = limits.addObject().put("limit", status.limit()).put("own_share", status.ownShare());
      ArrayNode quotas = limit.putArray("quotas");
      for (QuotaStatus quota : status.quotas()) {
        quotas.addObject()
            .put("dimension", quota.quota().dimension().label())
            .put("window_seconds", quota.quota().windowMillis() / 1000.0)
            .put("amount", quota.quota().amount())
            .put("used", quota.used())
            .put("remaining", quota.remaining())
            .put("debt", quota.debt())
            .put("reset_seconds", quota.resetMillis() / 1000.0);
      }
    }
    return body;
  }
}
