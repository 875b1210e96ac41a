package io.kvasir.app.command;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.routing.Role;
import io.kvasir.sim.publisher.EventFormat.Encoding;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

final class SimOptionsTest {
  private final List<String> wrong = new ArrayList<>();

  private Encoding encoding(EngineApi api, String... arguments) {
    EventOptions options = CommandLine.populateCommand(new EventOptions(), arguments);
    return options.settings("127.0.0.1", api, wrong).format().encoding();
  }

  private TransferSettings transfer(Role role, @Nullable EngineApi api, String... arguments) {
    return CommandLine.populateCommand(new TransferOptions(), arguments).settings(role, api, wrong);
  }

  @Test
  void engineThatActsAsAnother_hasItsEventsAndItsHandOver_unlessOthersAreGiven() {
    assertThat(encoding(EngineApi.SGLANG)).isEqualTo(Encoding.SGLANG);
    assertThat(encoding(EngineApi.LLM_D)).isEqualTo(Encoding.VLLM_MAP);
    assertThat(encoding(EngineApi.SGLANG, "--event-encoding", "vllm-array")).isEqualTo(Encoding.VLLM_ARRAY);
    assertThat(transfer(Role.PREFILL, EngineApi.SGLANG).dialect()).isEqualTo(TransferDialect.SGLANG);
    assertThat(transfer(Role.DECODE, null).dialect()).isEqualTo(TransferDialect.VLLM_NIXL);
    assertThat(transfer(Role.BOTH, EngineApi.SGLANG).dialect()).isEqualTo(TransferDialect.NONE);
    assertThat(transfer(Role.PREFILL, EngineApi.VLLM, "--dialect", "vllm-push").dialect())
        .isEqualTo(TransferDialect.VLLM_PUSH);
    assertThat(wrong).isEmpty();
  }

  /** Of these vLLM tells no port: routers assume the real one's. */
  @ParameterizedTest
  @CsvSource({
    "vllm-mooncake, PREFILL, 8998", "vllm-mooncake, DECODE, 0", "vllm-push, PREFILL, 5600", "sglang, PREFILL, 0",
    "vllm-nixl, PREFILL, 0"
  })
  void transferPort_isTheRealEngines_whereNoEngineTellsIt(String dialect, Role role, int port) {
    assertThat(transfer(role, null, "--dialect", dialect).port()).isEqualTo(port);
    assertThat(transfer(role, null, "--dialect", dialect, "--transfer-port", "0").port()).isZero();
  }

  @Test
  void controller_isNoEngineAndNoCoordinator() {
    LmCacheOptions both = CommandLine.populateCommand(new LmCacheOptions(), "--controller", "--coordinator");
    LmCacheOptions one = CommandLine.populateCommand(new LmCacheOptions(), "--controller", "--pull-port", "99999");

    assertThat(both.faults(0, Set.of("--controller", "--coordinator"))).singleElement().asString().contains("each");
    assertThat(one.faults(70_000, Set.of("--controller", "--pull-port", "--speed")))
        .hasSize(3).anyMatch(fault -> fault.startsWith("speed: is for engines"))
        .anyMatch(fault -> fault.startsWith("port: must be")).anyMatch(fault -> fault.startsWith("pull-port: must be"));
  }
}
