package io.kvasir.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.TestPods;
import io.kvasir.doctor.check.Finding;
import io.kvasir.doctor.check.Severity;
import io.kvasir.doctor.exam.EngineExaminer.Timeouts;
import io.kvasir.doctor.exam.EngineTarget;
import io.kvasir.http.HttpCalls;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.KvTransfer.Dialect;
import io.kvasir.routing.Role;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.InjectedFault;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.io.IOException;
import java.time.Clock;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the doctor finds between prefill and decode engines. */
final class HandOverTest {
  private static final String MODEL = "kvasir-demo";
  private static final String CHECK = "hand-over";
  private static final Timeouts TIMEOUTS =
      new Timeouts(Duration.ofSeconds(60), Duration.ofSeconds(30), Duration.ofMillis(300));

  private final HttpCalls calls = new HttpCalls();
  private final List<SimEngine> engines = new ArrayList<>();

  @AfterEach
  void close() {
    engines.forEach(SimEngine::close);
    calls.close();
  }

  private SimEngine start(Role role, TransferSettings transfer) throws IOException {
    EngineApi api = switch (transfer.dialect()) {
      case SGLANG -> EngineApi.SGLANG;
      case TENSORRT_LLM -> EngineApi.TENSORRT_LLM;
      default -> EngineApi.VLLM;
    };
    SimEngine engine =
        SimEngine.start(
            SimSettings.builder().port(0).speed(0).capacityBlocks(1000).api(api).role(role).transfer(transfer)
                .events(EventSettings.DEFAULT.withLoopback()).build());
    engines.add(engine);
    return engine;
  }

  private static EngineTarget target(String pod, SimEngine engine, Role role, KvTransfer transfer) {
    return new EngineTarget(
        pod, engine.url(), null, Set.of(MODEL), 16, 1, List.of(),
        TestPods.pod(pod).url(engine.url()).models(MODEL).role(role).kvTransfer(transfer).build().worker(0, 0));
  }

  private static KvTransfer transfer(Dialect dialect, int port, String engineId) {
    return new KvTransfer(
        dialect, "", "127.0.0.1", port, engineId, 1, 1, new KvTransfer.TransferCost(1, 1));
  }

  private static KvTransfer transfer(Dialect dialect, SimEngine engine) {
    return transfer(dialect, engine.transferPort(), engine.engineId(0));
  }

  private List<Finding> handOvers(EngineTarget... targets) throws InterruptedException {
    Diagnosis diagnosis =
        new Doctor(calls, TIMEOUTS, Clock.system(ZoneId.systemDefault()))
            .examine(new Doctor.Subjects(List.of(targets), null, List.of(), null), _ -> { });
    return diagnosis.findings().stream().filter(finding -> finding.check().equals(CHECK)).toList();
  }

  @ParameterizedTest
  @EnumSource(Dialect.class)
  void everyEngine_handsOverOrReceivesOnce(Dialect dialect) throws Exception {
    TransferSettings settings = TransferSettings.of(TransferDialect.valueOf(dialect.name()));
    SimEngine prefill = start(Role.PREFILL, settings);
    List<SimEngine> decodes = List.of(start(Role.DECODE, settings), start(Role.DECODE, settings));

    List<Finding> findings =
        handOvers(
            target("p", prefill, Role.PREFILL, transfer(dialect, prefill)),
            target("d", decodes.get(0), Role.DECODE, transfer(dialect, decodes.get(0))),
            target("e", decodes.get(1), Role.DECODE, transfer(dialect, decodes.get(1))));

    assertThat(findings).isEmpty();
    assertThat(decodes).extracting(decode -> decode.transferStats().received()).containsExactly(1L, 1L);
  }

  @Test
  void decodeEngineThatAnswersWithAnError() throws Exception {
    SimEngine prefill = start(Role.PREFILL, TransferSettings.of(TransferDialect.VLLM_NIXL));
    SimEngine decode = start(Role.DECODE, TransferSettings.of(TransferDialect.VLLM_NIXL));
    decode.setFaults(List.of(InjectedFault.parse("500=1.0")));

    List<Finding> findings =
        handOvers(
            target("p", prefill, Role.PREFILL, transfer(Dialect.VLLM_NIXL, 0, "")),
            target("d", decode, Role.DECODE, transfer(Dialect.VLLM_NIXL, 0, "")));

    assertThat(findings).singleElement().satisfies(finding -> {
      assertThat(finding.severity()).isEqualTo(Severity.ERROR);
      assertThat(finding.subject()).isEqualTo("p at " + prefill.url());
      assertThat(finding.problem())
          .startsWith("d at %s did not receive the KV blocks that it computed (127.0.0.1:%d): "
              .formatted(decode.url(), prefill.transferPort()))
          .contains("500");
      assertThat(finding.remedy()).contains("VLLM_NIXL_SIDE_CHANNEL_HOST");
    });
  }

  @ParameterizedTest
  @EnumSource(value = Dialect.class, names = {"VLLM_PUSH", "VLLM_MOONCAKE", "SGLANG"})
  void anotherPortThanTheEngines(Dialect dialect) throws Exception {
    TransferSettings settings =
        TransferSettings.of(TransferDialect.valueOf(dialect.name()))
            .withTimes(Duration.ofMillis(100), Duration.ofMillis(100));
    SimEngine prefill = start(Role.PREFILL, settings);
    SimEngine decode = start(Role.DECODE, settings);

    List<Finding> findings =
        handOvers(
            target("p", prefill, Role.PREFILL, transfer(dialect, 1, "another")),
            target("d", decode, Role.DECODE, transfer(dialect, decode)));

    assertThat(findings).singleElement().satisfies(finding ->
        assertThat(finding.remedy()).contains("bootstrap-port"));
  }

  @Test
  void enginesOfAnotherGroupOrModel_areNoPartners() throws Exception {
    TransferSettings settings = TransferSettings.of(TransferDialect.VLLM_NIXL);
    SimEngine prefill = start(Role.PREFILL, settings);
    SimEngine decode = start(Role.DECODE, settings);
    KvTransfer apart = new KvTransfer(
        Dialect.VLLM_NIXL, "other", "127.0.0.1", 0, "", 1, 1, new KvTransfer.TransferCost(1, 1));

    assertThat(
        handOvers(
            target("p", prefill, Role.PREFILL, transfer(Dialect.VLLM_NIXL, prefill)),
            target("d", decode, Role.DECODE, apart)))
        .isEmpty();
    assertThat(decode.transferStats().received()).isZero();
  }
}
