package io.kvasir.app.node;

import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.telemetry.Problem;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Finds the models that no worker can serve at present, although the node itself is ready to take requests. */
final class UnservedModels {
  private static final int MAX_REPORTED = 5;
  private static final String SEE_ENGINES =
      "see that the engines run and that their URLs are right: GET /admin/workers says what is wrong with each";
  private static final String UNDRAIN = "take a drain back (kvasir admin workers undrain POD), or add a worker";

  private UnservedModels() {}

  /** The workers of one model, by what keeps requests from them. */
  private static final class Count {
    private int workers;
    private int unhealthy;
    private int serving;

    void add(WorkerSummary worker) {
      workers++;
      if (worker.health() != Health.HEALTHY) {
        unhealthy++;
      } else if (!worker.draining()) {
        serving++;
      }
    }

    Problem problem(String whose, String effect) {
      return unhealthy == 0
          ? Problem.error("every worker%s is draining: %s".formatted(whose, effect), UNDRAIN)
          : Problem.error(
              "no worker%s can serve (%d of %d cannot be reached or make no progress): %s"
                  .formatted(whose, unhealthy, workers, effect),
              SEE_ENGINES);
    }
  }

  /**
   * One problem for each model without a worker that can serve, no more than a few; one for all if there is none.
   *
   * @param waits what becomes of their requests
   */
  static List<Problem> problems(List<WorkerSummary> workers, WorkerWaits waits) {
    if (workers.isEmpty()) {
      return List.of(Problem.error(
          "no worker is known: " + waits.ofAllWithoutWorkers(),
          "name pods in kvasir.pods, have them discovered (kvasir.pods-from), or add one: kvasir admin workers add"
              + " URL"));
    }
    Count all = new Count();
    Map<String, Count> byModel = new TreeMap<>();
    for (WorkerSummary worker : workers) {
      all.add(worker);
      worker.models().forEach(model -> byModel.computeIfAbsent(model, _ -> new Count()).add(worker));
    }
    if (all.serving == 0) {
      return List.of(all.problem("", waits.ofAll()));
    }
    byModel.values().removeIf(count -> count.serving > 0);
    List<Problem> problems = new ArrayList<>();
    byModel.entrySet().stream()
        .limit(MAX_REPORTED)
        .forEach(each -> problems.add(
            each.getValue().problem(" of the model " + each.getKey(), waits.ofRequestsFor(each.getKey()))));
    if (byModel.size() > MAX_REPORTED) {
      problems.add(Problem.error(
          "%d more models have no worker that can serve".formatted(byModel.size() - MAX_REPORTED), SEE_ENGINES));
    }
    return problems;
  }
}
