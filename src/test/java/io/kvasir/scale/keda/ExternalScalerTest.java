package io.kvasir.scale.keda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.kvasir.Await;
import io.kvasir.cell.WorkerStatus.Work;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.scale.ScaleGoals;
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

  private final TestFleet fleet = new TestFleet();
  private final ScaleMonitor monitor =
      new ScaleMonitor(
          new ScaleSettings(
              true, Duration.ofSeconds(5),
              new ScaleGoals(
                  Duration.ofSeconds(2), Duration.ofMillis(50), 0.7, Duration.ofMinutes(5), Duration.ofMinutes(10), 1,
                  64),
              Map.of(), Set.of()),
          fleet::status, CostModel.bundled(), () -> true, _ -> {}, () -> 0);
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
    assertThat(keda.isActive(MODEL)).isFalse();
    inFlight(1);
    assertThat(keda.isActive(MODEL)).isTrue();
    assertThat(keda.isActive(Map.of("model", "m", "role", "Decode"))).as("without workers").isFalse();
  }

  @Test
  void activity_isPushedAsItChanges() {
    inFlight(0);
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
    inFlight(0);
    assertThat(keda.activity(MODEL).next()).isFalse();
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
        Status.Code.NOT_FOUND, "no worker serves misspelt (both); there are m (both)",
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
