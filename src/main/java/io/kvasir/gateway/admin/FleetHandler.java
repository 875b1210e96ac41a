package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminAnswer.object;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.Cells;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.WorkerStatus;
import java.util.List;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code /admin/workers} lists workers, adds a pod, drains or removes one; {@code /admin/cluster} has nodes and cells,
 * too. Any node answers for all. Thread-safe.
 */
public final class FleetHandler implements AdminPart {
  /** The path of the workers. */
  public static final String WORKERS = "/admin/workers";

  /** The path of the cluster's state. */
  public static final String CLUSTER = "/admin/cluster";

  private static final Logger LOG = LoggerFactory.getLogger(FleetHandler.class);
  private static final String POD = WORKERS + "/{pod}";
  private static final String WANTED = "send one that describes a pod: name, url, models …";

  private final Cells cells;
  private final PodDefaults defaults;

  /** Over the fleet. */
  public FleetHandler(Cells cells, PodDefaults defaults) {
    this.cells = cells;
    this.defaults = defaults;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(
        AdminRoute.get(WORKERS, _ -> AdminAnswer.ok(FleetJson.workers(cells.workers()))),
        AdminRoute.post(WORKERS, this::add),
        AdminRoute.post(POD + "/drain", request -> change(request, "draining", cells::drain)),
        AdminRoute.delete(POD, request -> change(request, "removed", cells::remove)),
        AdminRoute.get(CLUSTER, _ -> AdminAnswer.ok(FleetJson.cluster(cells.status()))));
  }

  private AdminAnswer add(AdminRequest request) throws AdminException {
    PodReader reader = new PodReader(defaults);
    PodSpec pod = reader.pod(request.body(WANTED));
    List<ObjectNode> faults = reader.faults();
    if (!faults.isEmpty()) {
      throw AdminException.faulty(
          400, faults.size() == 1 ? "the pod has a fault" : "the pod has " + faults.size() + " faults", faults);
    }
    try {
      cells.add(pod);
    } catch (IllegalArgumentException e) {
      throw AdminException.of(409, String.valueOf(e.getMessage()));
    }
    LOG.info("pod {} at {} added by the admin API", pod.name(), pod.url());
    return new AdminAnswer(201, object().put("pod", pod.name()).put("workers", pod.ranks()));
  }

  private AdminAnswer change(AdminRequest request, String done, Predicate<String> action) throws AdminException {
    String pod = request.variable("pod");
    if (!action.test(pod)) {
      throw AdminException.of(404, "there is no pod '" + pod + "'; GET " + WORKERS + " lists those there are");
    }
    LOG.info("pod {} {} by the admin API", pod, done);
    int left = cells.workers().stream()
        .filter(status -> status.worker().pod().equals(pod))
        .mapToInt(WorkerStatus::inFlight)
        .sum();
    return AdminAnswer.ok(object().put("pod", pod).put("state", done).put("in_flight", left));
  }
}
