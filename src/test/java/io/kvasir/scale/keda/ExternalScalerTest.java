package io.kvasir.scale.keda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.kvasir.Await;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.WorkerStatus.Work;
import io.kvasir.routing.Role;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.scale.ScaleGoals;
import io.kvasir.scale.ScaleTarget;
import io.kvasir.scale.live.ScaleMonitor;
import io.kvasir.scale.live.ScaleSettings;
import io.kvasir.scale.live.TestFleet;
import java.io.IOException;
import java.time.Duration;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** KEDA's calls over a socket. */
final class ExternalScalerTest {
  private static final Map<String, String> MODEL = Map.of("model", "m", "scalerAddress", "kvasir:9005");
  private static final String METRIC = "kvasir-desired-workers";

  private static final Map<String, String> FROM_ZERO = Map.of("model", "z");

  private final TestFleet fleet = new TestFleet();
  private long nowNanos;
  private final ScaleMonitor monitor =
      new ScaleMonitor(
          new ScaleSettings(
              true, Duration.ofSeconds(5), goals(1), Map.of("z", goals(0)), Set.of(new ScaleTarget("z", Role.BOTH))),
          fleet::status, CostModel.bundled(), () -> true, _ -> {}, () -> nowNanos);
  private final ExternalScaler scaler;
  private final ManagedChannel channel;
  private final KedaClient keda;

  ExternalScalerTest() throws IOException {
    this.scaler = new ExternalScaler(new KedaSettings("127.0.0.1", 0, null), monitor);
    this.channel = NettyChannelBuilder.forAddress("127.0.0.1", scaler.port()).usePlaintext().build();
    this.keda = new KedaClient(channel);
  }

  @AfterEach
  void close() {
    channel.shutdownNow();
    scaler.close();
  }

  private static ScaleGoals goals(int least) {
    return new ScaleGoals(
        Duration.ofSeconds(2), Duration.ofMillis(50), 0.7, Duration.ofMinutes(5), Duration.ofMinutes(10), least, 64);
  }

  /** Works the advice out as it goes on for so long. */
  private void watch(Duration time) {
    for (long end = nowNanos + time.toNanos(); nowNanos < end; nowNanos += Duration.ofSeconds(5).toNanos()) {
      monitor.tick();
    }
    monitor.tick();
  }

  private void inFlight(int requests) {
    fleet.put("a", requests, Work.NONE);
    monitor.tick();
  }

  @Test
  void metric_isTheWorkersThatThereShouldBe() {
    inFlight(300);
    assertThat(keda.spec(MODEL)).isEqualTo(METRIC + "/1/1.0");
    assertThat(keda.metric(MODEL, METRIC)).isEqualTo(METRIC + "/4/4.0");
    assertThat(keda.spec(Map.of("model", "m", "workersPerReplica", "8"))).isEqualTo(METRIC + "/8/8.0");
  }

  @Test
  void activity_isWhetherThereIsAnythingToDo() {
    inFlight(0);
    watch(Duration.ofMinutes(10));
    assertThat(keda.isActive(MODEL)).isFalse();
    inFlight(1);
    assertThat(keda.isActive(MODEL)).isTrue();
    assertThat(keda.isActive(Map.of("model", "m", "role", "Decode"))).as("without workers").isFalse();
  }

  @Test
  void runningWorkers_areActive_untilTheyHaveBeenIdleForAsLongAsFewerHaveToDo() {
    fleet.put("a", "c", "z", Role.BOTH, Health.HEALTHY, 0, EngineReport.NONE, Work.NONE);
    watch(Duration.ofMinutes(10).minusSeconds(5));
    assertThat(keda.isActive(FROM_ZERO)).as("who has just begun to look does not know").isTrue();
    Iterator<Boolean> pushed = keda.activity(FROM_ZERO);
    assertThat(pushed.next()).isTrue();
    watch(Duration.ofSeconds(5));
    assertThat(keda.isActive(FROM_ZERO)).isFalse();
    assertThat(pushed.next()).isFalse();
  }

  @Test
  void workersThatMayNotHaveBeenFoundYet_areNotScaledToZero() {
    inFlight(1);
    watch(Duration.ofSeconds(55));
    String unknown = "it is not known yet whether z (both) has workers; ask again";
    refused(Status.Code.UNAVAILABLE, unknown, () -> keda.isActive(FROM_ZERO));
    refused(Status.Code.UNAVAILABLE, unknown, () -> keda.metric(FROM_ZERO, METRIC));
    Iterator<Boolean> pushed = keda.activity(FROM_ZERO);
    Await.await("its stream", () -> monitor.listeners() == 1);
    watch(Duration.ofSeconds(5));
    assertThat(pushed.next()).isFalse();
    assertThat(keda.isActive(FROM_ZERO)).isFalse();
    assertThat(keda.metric(FROM_ZERO, METRIC)).isEqualTo(METRIC + "/0/0.0");
  }

  @Test
  void activity_isPushedAsItChanges() {
    inFlight(0);
    watch(Duration.ofMinutes(10));
    Iterator<Boolean> pushed = keda.activity(MODEL);
    assertThat(pushed.next()).isFalse();
    inFlight(0);
    inFlight(2);
    assertThat(pushed.next()).isTrue();
    inFlight(3);
    inFlight(0);
    assertThat(pushed.next()).isFalse();
  }

  @Test
  void nodeThatKnowsNothing_pushesNothing() {
    Iterator<Boolean> pushed = keda.activity(MODEL);
    Await.await("its stream", () -> monitor.listeners() == 1);
    monitor.tick();
    inFlight(1);
    assertThat(pushed.next()).isTrue();
  }

  @Test
  void clientThatIsGone_isForgotten() throws IOException {
    inFlight(1);
    assertThat(keda.activity(MODEL).next()).isTrue();
    assertThat(monitor.listeners()).isEqualTo(1);
    channel.shutdownNow();
    Await.await("its stream has ended", () -> monitor.listeners() == 0);
    inFlight(1);
  }

  @Test
  void nodeThatKnowsNothing_givesNoNumber() {
    refused(Status.Code.UNAVAILABLE, "knows no workers yet", () -> keda.metric(MODEL, METRIC));
    refused(Status.Code.UNAVAILABLE, "knows no workers yet", () -> keda.isActive(MODEL));
    assertThat(keda.spec(MODEL)).as("what it asks for it knows").isEqualTo(METRIC + "/1/1.0");
  }

  @Test
  void malformedMetadata_isNamed() {
    inFlight(1);
    refused(
        Status.Code.INVALID_ARGUMENT, "ScaledObject prod/llama: metadata.model is missing: name the base model",
        () -> keda.metric(Map.of(), METRIC));
    refused(
        Status.Code.INVALID_ARGUMENT, "metadata.role is 'cook'; it has to be one of prefill, decode, encode, both",
        () -> keda.isActive(Map.of("model", "m", "role", "cook")));
    refused(
        Status.Code.INVALID_ARGUMENT, "metadata.workersPerReplica is 'two'; it has to be a whole number from 1 to 64",
        () -> keda.spec(Map.of("model", "m", "workersPerReplica", "two")));
    refused(
        Status.Code.INVALID_ARGUMENT, "metadata.model is missing", () -> keda.activity(Map.of()).next());
    refused(
        Status.Code.INVALID_ARGUMENT, "metricName is 'queue'; there is only " + METRIC,
        () -> keda.metric(MODEL, "queue"));
    refused(
        Status.Code.NOT_FOUND, "no worker serves misspelt (both); there are m (both), z (both)",
        () -> keda.metric(Map.of("model", "misspelt"), METRIC));
  }

  private static void refused(Status.Code code, String description, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            StatusRuntimeException.class,
            status -> {
              assertThat(status.getStatus().getCode()).isEqualTo(code);
              assertThat(status.getStatus().getDescription()).contains(description);
            });
  }
}
