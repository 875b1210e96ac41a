package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.routing.Role;
import io.kvasir.telemetry.Problem;
import io.kvasir.telemetry.Problem.Severity;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class DoubledEnginesTest {
  @Test
  void problem_onePodOfEachEngine_none() {
    assertThat(DoubledEngines.problem(List.of())).isEmpty();
    assertThat(DoubledEngines.problem(List.of(worker("a", "a", 1, "m"), worker("b", "b", 2, "m")))).isEmpty();
  }

  @Test
  void problem_ranksOfOnePod_none() {
    assertThat(DoubledEngines.problem(List.of(worker("a:0", "a", 1, "m"), worker("a:1", "a", 1, "m")))).isEmpty();
  }

  @Test
  void problem_podsOfDifferentModels_none() {
    assertThat(DoubledEngines.problem(List.of(worker("a", "a", 1, "m"), worker("b", "b", 1, "n")))).isEmpty();
  }

  /** As while its pod is being given another name. */
  @Test
  void problem_theOtherOneGetsNothing_none() {
    WorkerSummary draining = new WorkerSummary(
        "b", "b", URI.create("http://10.0.0.1:8000"), Set.of("m"), Role.BOTH, Map.of(), true, Health.HEALTHY, 0);
    assertThat(DoubledEngines.problem(List.of(worker("a", "a", 1, "m"), draining))).isEmpty();
  }

  @Test
  void problem_twoPodsOfOneEngine_namesThem_withTheRemedy() {
    Problem problem = DoubledEngines.problem(List.of(
        worker("b", "b", 1, "m", "adapter"), worker("c", "c", 2, "m"), worker("a", "a", 1, "m", "adapter")))
        .orElseThrow();
    assertThat(problem.severity()).isEqualTo(Severity.WARNING);
    assertThat(problem.what()).endsWith(": http://10.0.0.1:8000 (a, b)");
    assertThat(problem.remedy()).contains("workers remove");
  }

  @Test
  void problem_manyEngines_namesAFew() {
    List<WorkerSummary> workers = IntStream.range(0, 20).mapToObj(i -> worker("w" + i, "w" + i, i / 2, "m")).toList();
    assertThat(DoubledEngines.problem(workers).orElseThrow().what())
        .contains("http://10.0.0.0:8000 (w0, w1)").endsWith(" and 7 more");
  }

  private static WorkerSummary worker(String id, String pod, int host, String... models) {
    return new WorkerSummary(
        id, pod, URI.create("http://10.0.0." + host + ":8000"), Set.of(models), Role.BOTH, Map.of(), false,
        Health.HEALTHY, 0);
  }
}
