package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.FromZeroSettings;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.routing.Role;
import io.kvasir.telemetry.Problem;
import io.kvasir.telemetry.Problem.Severity;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class UnservedModelsTest {
  private static final WorkerWaits NONE = new WorkerWaits(Duration.ZERO, FromZeroSettings.NONE);
  private static final FromZeroSettings FROM_ZERO = new FromZeroSettings(Set.of("n"), Duration.ofMinutes(10), 10);

  @Test
  void problems_everyModelHasAWorkerThatServes_none() {
    assertThat(UnservedModels.problems(List.of(
        worker("a", Health.HEALTHY, false, "m"), worker("b", Health.UNHEALTHY, false, "m")), NONE)).isEmpty();
  }

  @Test
  void problems_oneModelUnreachable_namesItWithCountAndRemedy() {
    List<Problem> problems = UnservedModels.problems(List.of(
        worker("a", Health.HEALTHY, false, "m"), worker("b", Health.UNHEALTHY, false, "n"),
        worker("c", Health.WEDGED, false, "n")), NONE);

    assertThat(problems).singleElement().satisfies(problem -> {
      assertThat(problem.severity()).isEqualTo(Severity.ERROR);
      assertThat(problem.what()).contains("the model n", "2 of 2");
      assertThat(problem.remedy()).contains("/admin/workers");
    });
  }

  @Test
  void problems_wholeFleetUnreachable_oneForAllModels() {
    assertThat(UnservedModels.problems(
        List.of(worker("a", Health.UNHEALTHY, false, "m"), worker("b", Health.UNHEALTHY, false, "n")), NONE))
        .singleElement()
        .extracting(Problem::what)
        .asString()
        .contains("no worker can serve", "2 of 2", "every request is refused");
  }

  @Test
  void problems_allDraining_saysWhichCommandEndsIt() {
    assertThat(UnservedModels.problems(List.of(worker("a", Health.HEALTHY, true, "m")), NONE))
        .singleElement()
        .satisfies(problem -> assertThat(problem.line()).contains("every worker is draining", "undrain"));
  }

  @Test
  void problems_noWorker_saysHowToAddOne() {
    assertThat(UnservedModels.problems(List.of(), NONE))
        .singleElement()
        .satisfies(problem -> assertThat(problem.line()).contains("no worker is known", "kvasir.pods"));
  }

  @Test
  void problems_manyModels_areBounded() {
    List<WorkerSummary> workers = new ArrayList<>(
        IntStream.range(0, 9).mapToObj(i -> worker("w" + i, Health.UNHEALTHY, false, "m" + i)).toList());
    workers.add(worker("well", Health.HEALTHY, false, "other"));

    assertThat(UnservedModels.problems(workers, NONE)).hasSize(6).last()
        .extracting(Problem::what).asString().startsWith("4 more models");
  }

  @Test
  void problems_requestsThatWaitForAWorker_areNotSaidToBeRefused() {
    List<WorkerSummary> some = List.of(
        worker("a", Health.HEALTHY, false, "m"), worker("b", Health.UNHEALTHY, false, "n"),
        worker("c", Health.UNHEALTHY, false, "o"));
    assertThat(UnservedModels.problems(some, new WorkerWaits(Duration.ZERO, FROM_ZERO)))
        .extracting(Problem::what)
        .satisfiesExactly(
            ofN -> assertThat(ofN).contains("model n").endsWith("its requests wait for one, up to 600 s"),
            ofO -> assertThat(ofO).contains("model o").endsWith("its requests are refused"));

    List<WorkerSummary> none = List.of(worker("b", Health.UNHEALTHY, false, "n"));
    assertThat(UnservedModels.problems(none, new WorkerWaits(Duration.ofSeconds(30), FromZeroSettings.NONE)))
        .singleElement().extracting(Problem::what).asString().endsWith("requests wait for one, up to 30 s");
    assertThat(UnservedModels.problems(List.of(), new WorkerWaits(Duration.ofSeconds(30), FROM_ZERO)))
        .singleElement().extracting(Problem::what).asString()
        .isEqualTo("no worker is known: requests for n wait for one, up to 600 s; all others are refused");
    assertThat(UnservedModels.problems(List.of(), new WorkerWaits(Duration.ofSeconds(30), FromZeroSettings.NONE)))
        .singleElement().extracting(Problem::what).asString().endsWith("every request is refused");
  }

  static WorkerSummary worker(String id, Health health, boolean draining, String model) {
    return new WorkerSummary(
        id, id, URI.create("http://" + id + ":8000"), Set.of(model), Role.BOTH, Map.of(), draining, health, 0);
  }
}
