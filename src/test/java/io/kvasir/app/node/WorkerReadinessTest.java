package io.kvasir.app.node;

import static io.kvasir.app.node.UnservedModelsTest.worker;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.FromZeroSettings;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.routing.Role;
import io.kvasir.telemetry.Problem;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class WorkerReadinessTest {
  private static final Duration LIMIT = Duration.ofSeconds(5);
  private static final WorkerSummary WELL = worker("well", Health.HEALTHY, false, "m");
  private static final WorkerSummary ILL = worker("ill", Health.UNHEALTHY, false, "m");
  private static final WorkerSummary NEW = worker("new", Health.UNKNOWN, false, "m");

  private long now = 7;
  private List<WorkerSummary> workers = List.of();
  private final WorkerReadiness readiness =
      new WorkerReadiness(
          () -> workers, new WorkerWaits(Duration.ZERO, FromZeroSettings.NONE), LIMIT, () -> now);

  @Test
  void start_waitsUntilEachWorkerIsKnown() {
    workers = List.of(NEW, worker("b", Health.UNKNOWN, false, "m"));
    assertThat(readiness.obstacle()).hasValueSatisfying(wait -> assertThat(wait.what()).startsWith("2 workers"));
    workers = List.of(NEW, ILL);
    assertThat(readiness.obstacle()).hasValueSatisfying(wait -> assertThat(wait.what()).startsWith("1 workers"));
    workers = List.of(WELL, ILL);
    assertThat(readiness.obstacle()).isEmpty();
  }

  @Test
  void start_waitsForOthersThanTheFirstNoLongerThanAProbeTakes() {
    workers = List.of(NEW);
    assertThat(readiness.obstacle()).isPresent();
    now += LIMIT.toNanos();
    assertThat(readiness.obstacle()).as("no cell has a home yet").isPresent();
    workers = List.of(NEW, WELL);
    assertThat(readiness.obstacle()).isPresent();
    now += LIMIT.toNanos() - 1;
    assertThat(readiness.obstacle()).isPresent();
    now++;
    assertThat(readiness.obstacle()).isEmpty();
  }

  @Test
  void start_aNodeThatKnowsOfNoWorker_waitsForThoseThatItIsToldOfSoon() {
    assertThat(readiness.obstacle()).isEmpty();
    workers = List.of(NEW, WELL);
    assertThat(readiness.obstacle()).isPresent();
    workers = List.of();
    now += LIMIT.toNanos();
    assertThat(readiness.obstacle()).isEmpty();
    workers = List.of(NEW);
    assertThat(readiness.obstacle()).as("the first worker of a fleet at zero").isEmpty();
  }

  @Test
  void later_aWorkerThatIsNotKnownYet_isNoObstacle() {
    workers = List.of(WELL);
    assertThat(readiness.obstacle()).isEmpty();
    workers = List.of(WELL, NEW);
    assertThat(readiness.obstacle()).isEmpty();
    workers = List.of(NEW);
    assertThat(readiness.obstacle()).as("its cell has moved").isEmpty();
  }

  @Test
  void start_doesNotWaitForWorkersThatGetNothingNew() {
    workers = List.of(WELL, worker("starting", Health.UNKNOWN, true, "m"));
    assertThat(readiness.obstacle()).isEmpty();
  }

  @Test
  void degradations_areThoseOfTheWorkersThatAreKnown() {
    workers = List.of(WELL, ILL, NEW);
    assertThat(readiness.degradations()).singleElement().extracting(Problem::what).asString()
        .startsWith("1 of 2 workers").endsWith(": ill");
    workers = List.of(NEW);
    assertThat(readiness.degradations()).isEmpty();
    workers = List.of();
    assertThat(readiness.degradations()).singleElement().extracting(Problem::what).asString()
        .startsWith("no worker is known");
  }

  @Test
  void degradations_anEngineThatIsThereTwice_isNamed() {
    WorkerSummary again = new WorkerSummary(
        "again", "again", WELL.url(), WELL.models(), Role.BOTH, Map.of(), false, Health.HEALTHY, 0);
    workers = List.of(WELL, again);
    assertThat(readiness.degradations()).singleElement().extracting(Problem::what).asString()
        .contains(WELL.url() + " (again, well)");
  }
}
