package io.kvasir.execution.attempt;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.LearntEngines.LearntEngine;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.execution.Warmup;
import io.kvasir.http.client.PodClient;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.ManualClock;
import io.kvasir.time.ManualTimer;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Ten seconds for the first byte, three between two pieces, a minute for the whole, and a second at a worker that is
 * out of service.
 */
final class DeadlinesTest {
  private final Metrics metrics = new Metrics(new PrometheusRegistry());
  private final PodClient pods = new PodClient(PodClient.Settings.defaults(), metrics, NanoClock.SYSTEM);
  private final ManualClock clock = new ManualClock();
  private final ManualTimer timer = new ManualTimer(clock);
  private final List<AbortReason> passed = new ArrayList<>();
  private boolean leaves;
  private final Deadlines deadlines = new Deadlines(
      new ExecutionServices(
          pods,
          new ExecutionSettings(
              ExecutionSettings.defaults().retries(), Duration.ofSeconds(10), Duration.ofSeconds(3),
              Duration.ofMinutes(1), 1 << 20, null, 10)
              .withStranded(Duration.ofSeconds(1)),
          new ExecutionMetrics(metrics), clock, timer, Warmup.NONE, _ -> LearntEngine.UNKNOWN,
          (_, _, body) -> body, Rescue.NONE),
      clock.nanos() + Duration.ofMinutes(1).toNanos(),
      () -> leaves,
      passed::add);

  @AfterEach
  void close() {
    pods.close();
  }

  @Test
  void theFirstByteHasATimeoutOfItsOwn() {
    deadlines.start();
    timer.advance(Duration.ofMillis(9_999));
    assertThat(passed).isEmpty();
    timer.advance(Duration.ofMillis(1));
    assertThat(passed).containsExactly(AbortReason.FIRST_BYTE_TIMEOUT);
    assertThat(timer.pending()).isZero();
  }

  @Test
  void afterTheFirstByteSilenceIsIdle() {
    deadlines.start();
    timer.advance(Duration.ofSeconds(9));
    deadlines.firstByteReceived();
    deadlines.awaitingPod();
    timer.advance(Duration.ofMillis(2_999));
    assertThat(passed).isEmpty();
    timer.advance(Duration.ofSeconds(3));
    assertThat(passed).containsExactly(AbortReason.IDLE_TIMEOUT);
  }

  @Test
  void everyPieceStartsTheIdleTimeoutAnew() {
    deadlines.start();
    deadlines.firstByteReceived();
    for (int piece = 0; piece < 10; piece++) {
      deadlines.awaitingPod();
      timer.advance(Duration.ofSeconds(2));
    }
    assertThat(passed).isEmpty();
  }

  @Test
  void aSlowClientIsNotThePodsSilence() {
    deadlines.start();
    deadlines.firstByteReceived();
    deadlines.awaitingClient();
    timer.advance(Duration.ofSeconds(50));
    assertThat(passed).isEmpty();
  }

  @Test
  void aWorkerThatIsOutOfServiceHasLessTimeForTheFirstByte() {
    leaves = true;
    deadlines.start();
    timer.advance(Duration.ofMillis(999));
    assertThat(passed).isEmpty();
    timer.advance(Duration.ofMillis(1));
    assertThat(passed).containsExactly(AbortReason.STRANDED);
    assertThat(timer.pending()).isZero();
  }

  @Test
  void aWorkerThatGoesOutOfServiceIsNoticedSoon() {
    deadlines.start();
    timer.advance(Duration.ofSeconds(4));
    assertThat(passed).isEmpty();
    leaves = true;
    timer.advance(Duration.ofSeconds(2));
    assertThat(passed).containsExactly(AbortReason.STRANDED);
  }

  @Test
  void whatComesOfAWorkerThatIsOutOfServiceKeepsItsStream() {
    leaves = true;
    deadlines.start();
    deadlines.firstByteReceived();
    for (int piece = 0; piece < 10; piece++) {
      deadlines.awaitingPod();
      timer.advance(Duration.ofMillis(900));
    }
    assertThat(passed).isEmpty();
    deadlines.awaitingClient();
    timer.advance(Duration.ofSeconds(5));
    assertThat(passed).as("the client's silence").isEmpty();
    deadlines.awaitingPod();
    timer.advance(Duration.ofSeconds(2));
    assertThat(passed).containsExactly(AbortReason.STRANDED);
  }

  @Test
  void theWholeRequestHasADeadline() {
    deadlines.start();
    deadlines.firstByteReceived();
    deadlines.awaitingClient();
    timer.advance(Duration.ofMillis(59_999));
    assertThat(passed).isEmpty();
    timer.advance(Duration.ofMillis(1));
    assertThat(passed).containsExactly(AbortReason.TOTAL_TIMEOUT);
  }

  @Test
  void aRetryThatStartsTooLateIsOverAtOnce() {
    clock.advance(Duration.ofMinutes(2));
    deadlines.start();
    assertThat(passed).containsExactly(AbortReason.TOTAL_TIMEOUT);
  }

  @Test
  void cancelledDeadlinesDoNotPass() {
    deadlines.start();
    deadlines.cancel();
    assertThat(timer.pending()).isZero();
    timer.advance(Duration.ofHours(1));
    assertThat(passed).isEmpty();
  }
}
