package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.FleetDescription;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.Pods;
import io.kvasir.cell.WorkerStatus;
import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code /admin/workers} lists workers, adds a pod, drains or removes one; {@code /admin/cells} and
 * {@code /admin/cluster} show what they are part of. Any node answers for all. Thread-safe.
 */
public final class FleetHandler implements AdminResource {
  /** The path of the workers. */
  public static final String WORKERS = "/admin/workers";

  /** The path of the cluster's state. */
  public static final String CLUSTER = "/admin/cluster";

  private static final Logger LOG = LoggerFactory.getLogger(FleetHandler.class);
  private static final String POD = WORKERS + "/{pod}";
  private static final String WANTED = "send one that describes a pod: its url, and what its engine does not tell";

  private final Pods pods;
  private final FleetDescription fleet;
  private final Supplier<ClusterStatus> cluster;
  private final PodDefaults defaults;
  private final PodCompletion completion;

  /**
   * Over the fleet.
   *
   * @param cluster describes the cluster as it is
   * @param completion of descriptions that name no models
   */
  public FleetHandler(
      Pods pods, FleetDescription fleet, Supplier<ClusterStatus> cluster, PodDefaults defaults,
      PodCompletion completion) {
    this.pods = pods;
    this.fleet = fleet;
    this.cluster = cluster;
    this.defaults = defaults;
    this.completion = completion;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(
        AdminRoute.get(WORKERS, _ -> AdminResponse.ok(FleetJson.workers(fleet.workers()))),
        AdminRoute.post(WORKERS, this::add),
        AdminRoute.get(POD, this::pod),
        AdminRoute.delete(POD, this::remove),
        AdminRoute.post(POD + "/drain", this::drain),
        AdminRoute.post(POD + "/undrain", this::undrain),
        AdminRoute.get("/admin/cells", _ -> AdminResponse.ok(FleetJson.cells(fleet.cluster()))),
        AdminRoute.get(CLUSTER, _ -> AdminResponse.ok(FleetJson.cluster(cluster.get()))));
  }

  /** Workers, and nodes with cells, to be watched. */
  public static List<AdminTopic> topics(Supplier<ClusterStatus> cluster) {
    WatchedWorkers workers = new WatchedWorkers();
    return List.of(
        new AdminTopic("workers", Map.of("workers", List.of("id")), () -> workers.read(cluster.get().workers())),
        new AdminTopic(
            "cluster",
            Map.of("nodes", List.of("address"), "cells", List.of("name"), "standbys", List.of("node")),
            () -> FleetJson.nodesAndCells(cluster.get())));
  }

  private AdminResponse add(AdminRequest request) throws AdminException {
    ObjectNode given = request.body(WANTED);
    Described described = given.has("models") ? new Described(read(given), null) : learnt(given);
    PodSpec pod = described.pod();
    try {
      pods.add(pod);
    } catch (IllegalArgumentException e) {
      throw AdminException.of(409, String.valueOf(e.getMessage()));
    }
    LOG.info("pod {} at {} added by the admin API", pod.name(), pod.url());
    ObjectNode answer = object().put("pod", pod.name()).put("workers", pod.engine().ranks());
    FleetJson.putLearnt(answer, pod, described.load());
    return new AdminResponse(201, answer);
  }

  /**
   * A pod to be added.
   *
   * @param load where its load is read from, null where its engine was not asked
   */
  private record Described(PodSpec pod, @Nullable String load) {}

  private PodSpec read(ObjectNode described) throws AdminException {
    PodReader reader = new PodReader(defaults);
    PodSpec pod = reader.pod(described);
    requireNone(reader.faults());
    return pod;
  }

  /** A pod whose description leaves to the engine what that tells. */
  private Described learnt(ObjectNode given) throws AdminException {
    PodReader reader = new PodReader(defaults);
    URI url = reader.url(given.get("url"));
    Integer grpcPort = reader.grpcPort(given);
    requireNone(reader.faults());
    PodCompletion.Completed completed;
    try {
      completed = completion.complete(given, url, grpcPort);
    } catch (IOException silent) {
      throw AdminException.unprocessable(
          "url", silent.getMessage() + " Or describe the pod yourself, with its models at least.");
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
      throw AdminException.of(503, "the node is stopping; ask another");
    }
    return new Described(read(completed.description()).with(completed.learnt()), completed.load());
  }

  private static void requireNone(List<ObjectNode> faults) throws AdminException {
    if (!faults.isEmpty()) {
      throw AdminException.faulty(
          400, faults.size() == 1 ? "the pod has a fault" : "the pod has " + faults.size() + " faults", faults);
    }
  }

  private AdminResponse pod(AdminRequest request) throws AdminException {
    String pod = request.variable("pod");
    List<WorkerStatus> workers = workers(pod);
    if (workers.isEmpty()) {
      throw unknown(pod);
    }
    ObjectNode answer = FleetJson.pod(pod, workers, fleet.healthChanges(pod));
    pods.all().stream()
        .filter(known -> known.name().equals(pod))
        .findFirst()
        .ifPresent(known -> FleetJson.putLearnt(answer, known, null));
    return AdminResponse.ok(answer);
  }

  private AdminResponse drain(AdminRequest request) throws AdminException {
    String pod = request.variable("pod");
    if (!pods.drain(pod)) {
      throw unknown(pod);
    }
    return changed(pod, "draining");
  }

  private AdminResponse undrain(AdminRequest request) throws AdminException {
    String pod = request.variable("pod");
    return switch (pods.undrain(pod)) {
      case DONE -> changed(pod, "serving");
      case WITHHELD ->
          throw AdminException.of(
              409, "pod '" + pod + "' gets nothing new because the source that lists it says so; change it there");
      case UNKNOWN -> throw unknown(pod);
    };
  }

  private AdminResponse remove(AdminRequest request) throws AdminException {
    String pod = request.variable("pod");
    int remaining = inFlight(pod);
    if (!pods.remove(pod)) {
      throw unknown(pod);
    }
    LOG.info("pod {} removed by the admin API with {} requests in flight", pod, remaining);
    return AdminResponse.ok(object().put("pod", pod).put("state", "removed").put("in_flight", remaining));
  }

  private AdminResponse changed(String pod, String state) {
    LOG.info("pod {} {} by the admin API", pod, state);
    return AdminResponse.ok(object().put("pod", pod).put("state", state).put("in_flight", inFlight(pod)));
  }

  private int inFlight(String pod) {
    return workers(pod).stream().mapToInt(status -> status.load().inFlight()).sum();
  }

  private List<WorkerStatus> workers(String pod) {
    return fleet.workers().stream().filter(status -> status.worker().pod().equals(pod)).toList();
  }

  private static AdminException unknown(String pod) {
    return AdminException.of(404, "there is no pod '" + pod + "'; GET " + WORKERS + " lists those there are");
  }
}
