package io.kvasir.cell.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.RetentionRelease;
import io.kvasir.routing.Retention;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.TestMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What engines are told of programs that need not be retained. */
final class RetainedProgramsTest {
  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final List<String> released = new ArrayList<>();
  private CompletableFuture<Boolean> answer = CompletableFuture.completedFuture(true);
  private final RetentionRelease engines = (pod, retention, program) -> {
    assertThat(retention).isEqualTo(Retention.SGLANG);
    released.add(program + " at " + pod.getHost());
    return answer;
  };
  private final RetainedPrograms programs = new RetainedPrograms(engines, new ProgramMetrics(registry));

  private static Worker worker(String pod, int rank, Retention retention) {
    return new Worker(
        pod + "#" + rank, pod, URI.create("http://" + pod + ":8000"), rank, 2, rank, Role.BOTH, Set.of("m"), Map.of(), 8,
        "e", null, retention);
  }

  private static Worker worker(String pod) {
    return worker(pod, 0, Retention.SGLANG);
  }

  private void turn(String program, Worker worker) {
    programs.began(program, worker);
    programs.ended(program, worker, true);
  }

  @Test
  void programThatLeaves_isReleasedOnce_whereItWas() {
    turn("p", worker("a"));
    turn("p", worker("a", 1, Retention.SGLANG));
    turn("other", worker("b"));
    turn("elsewhere", worker("c", 0, Retention.NONE));
    assertThat(programs.count()).isEqualTo(2);
    assertThat(released).isEmpty();

    programs.left("p");
    programs.left("p");
    programs.left("elsewhere");
    programs.left("unknown");

    assertThat(released).containsExactly("p at a");
    assertThat(programs.count()).isOne();
    assertThat(TestMetrics.sum(registry, "kvasir_program_releases", "done")).isOne();
  }

  @Test
  void programThatWentOnElsewhere_isReleasedWhereItWas_onceItsTurnHasAnAnswer() {
    turn("p", worker("a"));
    programs.began("p", worker("b"));
    assertThat(released).as("it may fail there").isEmpty();
    programs.ended("p", worker("b"), false);
    assertThat(released).isEmpty();

    turn("p", worker("b"));

    assertThat(released).containsExactly("p at a");
    programs.left("p");
    assertThat(released).containsExactly("p at a", "p at b");
  }

  @Test
  void turnsBesideEachOther_areReleasedByNeither() {
    programs.began("p", worker("a"));
    programs.began("p", worker("b"));
    programs.ended("p", worker("a"), true);
    assertThat(released).as("the other turn still runs").isEmpty();
    programs.ended("p", worker("b"), true);
    assertThat(released).as("the last to end is where it goes on").containsExactly("p at a");
  }

  @Test
  void turnOnAnEngineThatCannotRetain_releasesTheOthers() {
    turn("p", worker("a"));
    turn("p", worker("plain", 0, Retention.NONE));
    assertThat(released).containsExactly("p at a");
    assertThat(programs.count()).isZero();
  }

  @Test
  void leavingAll_releasesAll_andWhatFailsIsCounted() {
    answer = CompletableFuture.failedFuture(new IllegalStateException("not reached"));
    turn("p", worker("a"));
    turn("q", worker("b"));
    programs.leaveAll();
    assertThat(released).containsExactlyInAnyOrder("p at a", "q at b");
    assertThat(programs.count()).isZero();
    assertThat(TestMetrics.sum(registry, "kvasir_program_releases", "failed")).isEqualTo(2);
  }
}
