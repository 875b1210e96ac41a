package io.kvasir.sim.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.enginemodel.CacheGroup;
import io.kvasir.routing.Role;
import io.kvasir.sim.lmcache.ControllerAddress;
import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class SimSettingsTest {
  @Test
  void validate_ofDefaults_findsNothing() {
    SimSettings settings = SimSettings.builder().build();

    assertThat(settings.validate()).isEmpty();
    assertThat(settings.engine().blocks()).isEqualTo(434_527 / 16);
    assertThat(settings.maxModelLen()).isEqualTo(131_072);
  }

  @Test
  void validate_ofManyFaults_namesEachByItsFlag() {
    SimSettings settings =
        SimSettings.builder()
            .port(70_000)
            .model(" ")
            .modelDirectory(Path.of("nowhere"))
            .blockSize(0)
            .capacityBlocks(-1)
            .maxBatchedTokens(0)
            .maxSequences(0)
            .engine("h900")
            .speed(Double.NaN)
            .ranks(65)
            .role(Role.ENCODE)
            .healthDelay(Duration.ofSeconds(-1))
            .keepAlive(Duration.ZERO)
            .build();

    assertThat(settings.validate().stream().map(fault -> fault.substring(0, fault.indexOf(':'))))
        .contains("port", "model", "model-dir", "block-size", "capacity", "max-batched-tokens", "max-sequences",
            "engine", "speed", "ranks", "encoder-dir", "health-delay-ms", "keep-alive");
  }

  @Test
  void validate_ofGrpc_isForVllmOnly() {
    assertThat(SimSettings.builder().grpcPort(50_051).build().validate()).isEmpty();
    assertThat(SimSettings.builder().grpcPort(70_000).build().validate()).singleElement().asString()
        .startsWith("grpc-port:");
    assertThat(SimSettings.builder().grpcPort(50_051).api(EngineApi.SGLANG).build().validate()).singleElement()
        .asString().contains("grpc-port", "--act-as vllm");
  }

  @Test
  void validate_ofCacheGroups_isForVllmsEventsAndItsOwnCacheOnly() {
    SimSettings.Builder hybrid = SimSettings.builder().groups(List.of(new CacheGroup.SlidingWindow(1024)));
    assertThat(hybrid.build().validate()).isEmpty();
    EventSettings events = EventSettings.DEFAULT;
    SimSettings faulty =
        hybrid
            .hostTier(HostTierSettings.of(1024))
            .transfer(TransferSettings.of(TransferDialect.VLLM_NIXL))
            .events(
                new EventSettings(
                    true, "*", events.pub(), new EventSettings.ReplaySettings(true, 5657, true, 10, true), "",
                    new EventFormat(EventFormat.Encoding.SGLANG, false, false)))
            .build();
    assertThat(faulty.validate().stream().filter(fault -> fault.startsWith("cache-groups: ")))
        .hasSize(4)
        .first().asString().contains("event-encoding sglang");
  }

  @Test
  void validate_ofContextLargerThanTheCache_namesBoth() {
    SimSettings settings = SimSettings.builder().capacityBlocks(10).maxModelLen(161).build();

    assertThat(settings.validate()).singleElement().asString().contains("161").contains("10 blocks of 16");
  }

  @Test
  void validate_ofPortsThatRanksWouldShare_saysSo() {
    SimSettings settings = SimSettings.builder().ranks(2).events(events(5557, null, 5558)).build();

    assertThat(settings.validate()).singleElement().asString().startsWith("replay-port:");
    assertThat(SimSettings.builder().ranks(2).events(events(5557, null, 5559)).build().validate()).isEmpty();
  }

  @Test
  void validate_ofAddressToConnectTo_wantsHostAndPort() {
    SimSettings settings = SimSettings.builder().events(events(0, "router", 5657)).build();

    assertThat(settings.validate()).singleElement().asString().contains("tcp://host:port");
  }

  @Test
  void validate_ofHostTier_wantsWholeChunks() {
    assertThat(faults(16, HostTierSettings.of(16))).isEmpty();
    assertThat(faults(16, HostTierSettings.of(15))).singleElement().asString().contains("16 blocks at least");
    assertThat(faults(24, HostTierSettings.of(100))).singleElement().asString().contains("divides 256");
    assertThat(faults(16, HostTierSettings.of(-1))).singleElement().asString().startsWith("host-blocks:");
  }

  @Test
  void validate_ofSomebodyToTellWithoutHostTier_saysWhatIsMissing() {
    HostTierSettings nothing = new HostTierSettings(
        0, 0, true, ControllerAddress.parse("controller"), URI.create("//coordinator"), " ", 0,
        Duration.ofSeconds(-1));

    assertThat(faults(16, nothing).stream().map(fault -> fault.substring(0, fault.indexOf(':'))))
        .containsExactly(
            "host-gbps", "lmcache-controller", "lmcache-coordinator", "lmcache-coordinator", "host-events",
            "lmcache-instance", "lmcache-heartbeat-ms");
  }

  @Test
  void controllerAddress_hasLmcachesPortsUnlessToldOthers() {
    assertThat(ControllerAddress.parse("10.0.0.1")).isEqualTo(new ControllerAddress("10.0.0.1", 8300, 8400));
    assertThat(ControllerAddress.parse("here:1,2")).isEqualTo(new ControllerAddress("here", 1, 2));
    for (String wrong : List.of("", "here:1", "here:1,", "http://here", "a b")) {
      assertThatThrownBy(() -> ControllerAddress.parse(wrong))
          .as(wrong)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("'" + wrong + "'");
    }
  }

  @Test
  void fault_parsed_isShareOrCount() {
    assertThat(InjectedFault.parse("503=0.05")).isEqualTo(new InjectedFault(InjectedFault.Kind.STATUS_503, 0.05, 0));
    assertThat(InjectedFault.parse("hang=2x")).isEqualTo(new InjectedFault(InjectedFault.Kind.HANG, 0, 2));
    for (String wrong : List.of("502=1x", "hang", "hang=", "hang=2", "hang=-1x", "hang=many")) {
      assertThatThrownBy(() -> InjectedFault.parse(wrong))
          .as(wrong)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("'" + wrong + "'");
    }
  }

  private static List<String> faults(int blockSize, HostTierSettings hostTier) {
    return SimSettings.builder().blockSize(blockSize).hostTier(hostTier).build().validate();
  }

  private static EventSettings events(int port, @Nullable String connect, int replayPort) {
    return new EventSettings(
        true, "*", new EventSettings.PubSettings(port, connect),
        new EventSettings.ReplaySettings(true, replayPort, true, 10), "", EventFormat.VLLM);
  }
}
