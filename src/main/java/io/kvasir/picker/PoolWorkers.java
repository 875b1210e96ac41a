package io.kvasir.picker;

import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.http.Cancellation;
import io.kvasir.pools.Pool;
import io.kvasir.routing.Worker;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The workers that a request may go to: those of its pool, at the endpoints that its gateway allows. Immutable.
 *
 * @param pool the pool
 * @param endpoints the endpoints, null for all
 */
record PoolWorkers(Pool pool, @Nullable Endpoints endpoints) {
  private boolean all() {
    return endpoints == null && pool.selector().isEmpty() && pool.targetPorts().isEmpty();
  }

  boolean have(WorkerSummary worker) {
    return pool.has(worker.labels(), worker.url().getPort())
        && (endpoints == null || endpoints.have(Endpoints.address(worker.url())));
  }

  /**
   * Decides for one of them. A request for a model that none of them serves goes to the one with the least load all the
   * same, and waits for nobody: that will say what it thinks of it.
   *
   * @param client ends the wait for the request's turn when it is cancelled
   */
  Decision decide(Cells cells, PoolExclusions exclusions, DecisionRequest request, Cancellation client) {
    DecisionRequest asked = request;
    while (true) {
      Decision decision = decideInTurn(cells, exclusions, asked, client);
      if (!(decision instanceof Decision.Planned planned) || have(planned)) {
        return decision;
      }
      // Workers that were not known when it began to wait: the pool's were told apart then.
      planned.close(new Outcome.Cancelled());
      Set<String> excluded = new HashSet<>(asked.constraints().excluded());
      planned.steps().stream().map(Decision.Chosen::worker).filter(worker -> !have(worker)).map(Worker::id)
          .forEach(excluded::add);
      asked = asked.without(excluded);
    }
  }

  private boolean have(Decision.Planned planned) {
    for (Decision.Chosen step : planned.steps()) {
      if (!have(step.worker())) {
        return false;
      }
    }
    return true;
  }

  private boolean have(Worker worker) {
    return pool.has(worker.labels(), worker.url().getPort())
        && (endpoints == null || endpoints.have(Endpoints.address(worker.url())));
  }

  private Decision decideInTurn(
      Cells cells, PoolExclusions exclusions, DecisionRequest request, Cancellation client) {
    if (all()) {
      Decision decision = cells.decideInTurn(request, client);
      return decision instanceof Decision.NoWorker none
              && none.reason() == Decision.NoWorkerReason.UNKNOWN_MODEL
          ? decideForAnyModel(cells, request)
          : decision;
    }
    if (endpoints == null && request.constraints().excluded().isEmpty()) {
      Set<String> outside = exclusions.of(pool, request.model());
      return outside == null ? decideForAnyModel(cells, request)
          : cells.decideInTurn(outside.isEmpty() ? request : request.without(outside), client);
    }
    Set<String> excluded = new HashSet<>(request.constraints().excluded());
    boolean served = false;
    for (WorkerSummary worker : cells.workers(request.model())) {
      if (!have(worker)) {
        excluded.add(worker.id());
      } else if (!excluded.contains(worker.id())) {
        served = true;
      }
    }
    if (served) {
      return cells.decideInTurn(request.without(excluded), client);
    }
    return decideForAnyModel(cells, request);
  }

  private Decision decideForAnyModel(Cells cells, DecisionRequest request) {
    List<WorkerSummary> workers = cells.workers();
    List<WorkerSummary> left = new ArrayList<>();
    Set<String> excluded = new HashSet<>(request.constraints().excluded());
    for (WorkerSummary worker : workers) {
      if (!have(worker)) {
        excluded.add(worker.id());
      } else if (!excluded.contains(worker.id())) {
        left.add(worker);
      }
    }
    Decision last =
        new Decision.NoWorker(
            Decision.NoWorkerReason.NONE_HEALTHY,
            endpoints == null
                ? "The pool " + pool.id() + " has no worker"
                : "No worker of the pool " + pool.id() + " is at an endpoint that the gateway allows");
    while (!left.isEmpty()) {
      // One name of each worker is enough: some have hundreds, and a decision may be a message to another node.
      WorkerSummary next = left.removeFirst();
      if (!next.models().isEmpty()) {
        String model = next.models().iterator().next();
        left.removeIf(other -> other.models().contains(model));
        last = cells.decide(request.ofModel(model, excluded));
        if (last instanceof Decision.Planned) {
          return last;
        }
      }
    }
    return last;
  }

  /** Books the load of a request on the worker at an address; null when none is there, or it takes no more. */
  static Decision.@Nullable Chosen book(Cells cells, DecisionRequest request, String address) {
    Set<String> others = new HashSet<>();
    boolean found = false;
    for (WorkerSummary worker : cells.workers(request.model())) {
      boolean served = !found && Endpoints.address(worker.url()).equals(address);
      found |= served;
      if (!served) {
        others.add(worker.id());
      }
    }
    return found && cells.decide(request.onSingleWorker().without(others)) instanceof Decision.Planned planned
        ? planned.last()
        : null;
  }
}
