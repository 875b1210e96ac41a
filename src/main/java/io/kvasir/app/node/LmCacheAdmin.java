package io.kvasir.app.node;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.gateway.admin.AdminRequest;
import io.kvasir.gateway.admin.AdminResource;
import io.kvasir.gateway.admin.AdminResponse;
import io.kvasir.gateway.admin.AdminRoute;
import io.kvasir.lmcache.LmCache;
import io.kvasir.lmcache.LmCacheView;
import io.kvasir.lmcache.LmCacheView.CoordinatorView;
import io.kvasir.lmcache.LmCacheView.InstanceView;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The resource {@code /admin/lmcache}: this node's view of LMCache. Thread-safe. */
final class LmCacheAdmin implements AdminResource {
  private final @Nullable LmCache lmcache;

  /** Over a node's LMCache, null when it is configured with none. */
  LmCacheAdmin(@Nullable LmCache lmcache) {
    this.lmcache = lmcache;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(AdminRoute.get("/admin/lmcache", this::shown));
  }

  private AdminResponse shown(AdminRequest request) {
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    if (lmcache == null) {
      return AdminResponse.ok(body.putNull("controller"));
    }
    LmCacheView view = lmcache.view();
    body.put("controller", view.service()).put("service", view.serviceName());
    view.age().ifPresent(age -> body.put("age_seconds", seconds(age)));
    view.failure().ifPresent(failure -> body.put("failure", failure));
    ArrayNode instances = body.putArray("instances");
    for (InstanceView instance : view.instances()) {
      ObjectNode shown = instances.addObject().put("instance", instance.id());
      instance.worker().ifPresentOrElse(worker -> shown.put("worker", worker), () -> shown.putNull("worker"));
      shown.put("keys", instance.keys()).put("ranks", instance.ranks()).put("stale_ranks", instance.staleRanks());
      instance.heartbeat().ifPresent(age -> shown.put("heartbeat_age_seconds", seconds(age)));
    }
    ArrayNode problems = body.putArray("problems");
    view.problems().forEach(problems::add);
    view.coordinator().ifPresent(coordinator -> show(coordinator, body.putObject("coordinator")));
    return AdminResponse.ok(body);
  }

  private static void show(CoordinatorView coordinator, ObjectNode shown) {
    shown.put("address", coordinator.address());
    coordinator.age().ifPresent(age -> shown.put("age_seconds", seconds(age)));
    coordinator.failure().ifPresent(failure -> shown.put("failure", failure));
    ArrayNode instances = shown.putArray("instances");
    coordinator.instances().forEach(instances::add);
  }

  private static double seconds(Duration time) {
    return time.toMillis() / 1e3;
  }
}
