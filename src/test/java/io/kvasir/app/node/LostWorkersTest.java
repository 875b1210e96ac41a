package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.telemetry.Problem;
import io.kvasir.telemetry.Problem.Severity;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

final class LostWorkersTest {
  @Test
  void problem_allWell_none() {
    assertThat(LostWorkers.problem(List.of())).isEmpty();
    assertThat(LostWorkers.problem(List.of(worker("a", Health.HEALTHY, "m")))).isEmpty();
  }

  @Test
  void problem_someLost_namesThem_withTheRemedy() {
    Problem problem = LostWorkers.problem(List.of(
        worker("a", Health.HEALTHY, "m"), worker("c", Health.WEDGED, "m"), worker("b", Health.UNHEALTHY, "m")))
        .orElseThrow();
    assertThat(problem.severity()).isEqualTo(Severity.WARNING);
    assertThat(problem.what()).contains("2 of 3 workers", "b, c");
    assertThat(problem.remedy()).contains("/admin/workers", "workers remove");
  }

  /** That is told of the model. */
  @Test
  void problem_nobodyServesTheirModel_none() {
    assertThat(LostWorkers.problem(List.of(worker("a", Health.HEALTHY, "m"), worker("b", Health.UNHEALTHY, "n"))))
        .isEmpty();
    WorkerSummary draining = UnservedModelsTest.worker("a", Health.HEALTHY, true, "m");
    assertThat(LostWorkers.problem(List.of(draining, worker("b", Health.UNHEALTHY, "m")))).isEmpty();
  }

  @Test
  void problem_manyLost_namesAFew() {
    List<WorkerSummary> workers = Stream.concat(
        Stream.of(worker("a", Health.HEALTHY, "m")),
        IntStream.range(0, 2000).mapToObj(i -> worker("w" + i, Health.UNHEALTHY, "m"))).toList();
    assertThat(LostWorkers.problem(workers).orElseThrow().what())
        .contains("2,000 of 2,001 workers", "w0, w1, w10, w100, w1000 and 1,995 more");
  }

  private static WorkerSummary worker(String id, Health health, String model) {
    return UnservedModelsTest.worker(id, health, false, model);
  }
}
