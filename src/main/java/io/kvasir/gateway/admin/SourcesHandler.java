package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.EventMode;
import io.kvasir.cell.FleetDescription;
import io.kvasir.cell.WorkerStatus;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * {@code /admin/sources}: the event streams of all workers, how far they have come and what went wrong with them. Any
 * node answers for all. Thread-safe.
 */
public final class SourcesHandler implements AdminResource {
  private final FleetDescription fleet;

  /** Over the fleet. */
  public SourcesHandler(FleetDescription fleet) {
    this.fleet = fleet;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(AdminRoute.get("/admin/sources", _ -> AdminResponse.ok(sources(fleet.workers()))));
  }

  /** The same, to be watched. */
  public static AdminTopic topic(Supplier<List<WorkerStatus>> workers) {
    return new AdminTopic(
        "sources", Map.of("sources", List.of("worker", "source")), () -> sources(workers.get()));
  }

  private static ObjectNode sources(List<WorkerStatus> workers) {
    ObjectNode body = object();
    ArrayNode sources = body.putArray("sources");
    workers.forEach(status -> put(sources.addObject(), status));
    return body;
  }

  private static void put(ObjectNode entry, WorkerStatus status) {
    WorkerStatus.EventStream events = status.events();
    entry
        .put("worker", status.worker().id())
        .put("pod", status.worker().pod())
        .put("source", events.source().isEmpty() ? "none" : events.source())
        .put("mode", EventMode.of(status).label())
        .put("connected", events.connected())
        .put("sequence", status.index().lastSequence());
    FleetJson.putKnown(entry, "lag_ms", events.lagMillis());
    entry.put(
        "last_event", events.appliedMillis() < 0 ? null : Instant.ofEpochMilli(events.appliedMillis()).toString());
    entry
        .put("gaps", events.gaps())
        .put("resyncs", status.index().resyncs())
        .put("failures", events.failures())
        .put("last_fault", events.lastFault())
        .put("rows", status.index().blocks());
  }
}
