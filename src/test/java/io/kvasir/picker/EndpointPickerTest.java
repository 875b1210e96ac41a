package io.kvasir.picker;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.ManagedChannel;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.kvasir.Await;
import io.kvasir.load.Ports;
import io.kvasir.pools.Pool;
import io.kvasir.pools.PoolSet;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a picker is besides its streams: ports, health, TLS, its end. */
final class EndpointPickerTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\",\"messages\":[]}";

  @ParameterizedTest
  @ValueSource(
      strings = {"", "liveness", "readiness", "envoy.service.ext_proc.v3.ExternalProcessor", "inference-extension"})
  void health_isServedByEveryName_onBothPorts(String service) throws Exception {
    try (TestPicker picker = new TestPicker(TestPicker.SETTINGS)) {
      Await.await(() -> health(picker.channel(), service) == ServingStatus.SERVING);
      ManagedChannel probe =
          NettyChannelBuilder.forAddress("127.0.0.1", picker.picker.healthPort()).usePlaintext().build();
      try {
        assertThat(health(probe, service)).isEqualTo(ServingStatus.SERVING);
      } finally {
        probe.shutdownNow();
      }
    }
  }

  @Test
  void draining_turnsHealthOff_andLetsStreamsEnd() throws Exception {
    try (TestPicker picker = new TestPicker(TestPicker.SETTINGS)) {
      picker.cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
      ManagedChannel probe =
          NettyChannelBuilder.forAddress("127.0.0.1", picker.picker.healthPort()).usePlaintext().build();
      TestStream stream = picker.stream().head("POST", CHAT, false).body(BODY, true);
      stream.destined();
      assertThat(stream.echo()).isEqualTo(BODY);
      Thread drain = Thread.ofVirtual().start(() -> picker.picker.drain(Duration.ofMinutes(1)));

      Await.await(() -> health(probe, "readiness") == ServingStatus.NOT_SERVING);
      assertThat(health(probe, "liveness")).isEqualTo(ServingStatus.SERVING);
      stream.responseHead(200, null, false, "content-type", "text/plain").responseBody("late", true);
      assertThat(stream.reply().hasResponseHeaders()).isTrue();
      assertThat(stream.responseEcho()).isEqualTo("late");
      stream.halfClose();
      drain.join();
      probe.shutdownNow();
    }
  }

  @Test
  void draining_cutsWhatTakesTooLong() throws Exception {
    try (TestPicker picker = new TestPicker(TestPicker.SETTINGS)) {
      picker.cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
      TestStream stream = picker.stream().head("POST", CHAT, false).body(BODY, true);
      stream.destined();
      picker.picker.drain(Duration.ofMillis(1));

      assertThat(stream.end().isOk()).isFalse();
      Await.await(() -> picker.cells.open.get() == 0);
    }
  }

  @Test
  void tls_isSelfSignedWithoutFiles() throws Exception {
    PickerSettings secure =
        settings(new PickerSettings.Listener("127.0.0.1", 0, 0, true, null), false, false, PoolSet.NONE);
    try (TestPicker picker = new TestPicker(secure)) {
      ManagedChannel channel =
          NettyChannelBuilder.forAddress("127.0.0.1", picker.picker.ports().getFirst())
              .sslContext(
                  GrpcSslContexts.forClient().trustManager(InsecureTrustManagerFactory.INSTANCE).build())
              .build();
      try {
        Await.await(() -> health(channel, "readiness") == ServingStatus.SERVING);
      } finally {
        channel.shutdownNow();
      }
    }
  }

  @Test
  void poolWithAPortOfItsOwn_isMeantByIt() throws Exception {
    int port = Ports.free();
    PoolSet pools =
        new PoolSet(
            List.of(
                new Pool("x", "any", Map.of(), List.of(), Set.of(), Set.of(), 0),
                new Pool("x", "own", Map.of(), List.of(9), Set.of(), Set.of(), port)),
            List.of(),
            List.of());
    try (TestPicker picker = new TestPicker(settings(TestPicker.SETTINGS.listener(), false, false, pools))) {
      picker.cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
      picker.cells.worker("b", URI.create("http://10.0.0.1:9"), "m");
      ManagedChannel own = NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build();
      TestStream stream = new TestStream(own, null).head("POST", CHAT, false).body(BODY, true);

      assertThat(TestStream.set(stream.destined().getHeaderMutation()))
          .containsEntry("x-gateway-destination-endpoint", "10.0.0.1:9");
      stream.cancel();
      Await.await(() -> picker.cells.open.get() == 0);
      own.shutdownNow();
    }
  }

  @Test
  void earlyClose_endsTheStreamWithTheEcho() throws Exception {
    try (TestPicker picker =
        new TestPicker(settings(TestPicker.SETTINGS.listener(), false, true, false))) {
      picker.cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
      TestStream stream = picker.stream().head("POST", CHAT, false).body(BODY, true);
      stream.destined();
      assertThat(stream.echo()).isEqualTo(BODY);

      assertThat(stream.end().isOk()).isTrue();
      Await.await(() -> picker.cells.open.get() == 0);
    }
  }

  /** Where {@code conformance} is off, which is the default, the header is one like any other. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void conformance_letsAClientChoose(boolean on) throws Exception {
    try (TestPicker picker = new TestPicker(settings(TestPicker.SETTINGS.listener(), false, false, on))) {
      picker.cells.worker("a", URI.create("http://10.0.0.1:3000"), "m");
      picker.cells.worker("b", URI.create("http://10.0.0.2:3000"), "m");
      TestStream stream =
          picker.stream()
              .head("GET", "/", true, "test-epp-endpoint-selection", "10.0.0.9, 10.0.0.2:3000");
      assertThat(TestStream.set(stream.destined().getHeaderMutation()))
          .containsEntry("x-gateway-destination-endpoint", on ? "10.0.0.2:3000" : "10.0.0.1:3000");
      stream.responseHead(200, on ? "10.0.0.2:3000" : null, true);
      Map<String, String> response =
          TestStream.set(stream.reply().getResponseHeaders().getResponse().getHeaderMutation());
      if (on) {
        assertThat(response)
            .containsEntry("x-conformance-test-served-endpoint", "10.0.0.2:3000")
            .containsEntry("x-conformance-test-selected-endpoint", "10.0.0.2:3000")
            .containsEntry("x-conformance-test-epp-pool", "default/kvasir");
        TestStream nobody =
            picker.stream().head("GET", "/", true, "test-epp-endpoint-selection", "10.0.0.9");
        assertThat(nobody.immediate().getStatus().getCode()).isEqualTo(503);
      } else {
        assertThat(response).doesNotContainKey("x-conformance-test-served-endpoint");
      }
    }
  }

  private static PickerSettings settings(
      PickerSettings.Listener listener, boolean earlyClose, boolean conformance, PoolSet pools) {
    return new PickerSettings(
        listener, TestPicker.SETTINGS.limits(), true, 0, earlyClose, Duration.ofMillis(100), conformance, pools);
  }

  private static PickerSettings settings(
      PickerSettings.Listener listener, boolean tls, boolean earlyClose, boolean conformance) {
    return new PickerSettings(
        new PickerSettings.Listener(listener.host(), 0, 0, tls, null), TestPicker.SETTINGS.limits(), true, 0,
        earlyClose, Duration.ofMillis(100), conformance, PoolSet.NONE);
  }

  private static ServingStatus health(ManagedChannel channel, String service) {
    return HealthGrpc.newBlockingStub(channel)
        .check(HealthCheckRequest.newBuilder().setService(service).build())
        .getStatus();
  }
}
