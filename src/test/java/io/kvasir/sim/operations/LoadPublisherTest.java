package io.kvasir.sim.operations;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.SimSettings;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** The simulated SGLang's messages of load. */
final class LoadPublisherTest {
  /** What msgspec 0.21 makes of {@code LoadStat(7, 300, 70000, 131072, 1, 0, 70000, 256, 0, 0)} of SGLang 0.5.23. */
  @Test
  void stat_isWrittenAsMsgspecDoes() {
    assertThat(new LoadPublisher.Stat(7, 300, 70_000, 131_072, 1, 256).encode())
        .isEqualTo(HexFormat.of().parseHex(
            "9ba84c6f61645374617407cd012cce00011170ce000200000100ce00011170cd01000000"));
  }

  @Test
  void loadPort_isForAnEngineThatAnnouncesIt() {
    assertThat(SimSettings.builder().loadPort(0).build().validate())
        .singleElement().asString().startsWith("load-port:").contains("--act-as sglang");
    assertThat(SimSettings.builder().api(EngineApi.SGLANG).loadPort(0).build().validate()).isEmpty();
    assertThat(SimSettings.builder().api(EngineApi.SGLANG).loadPort(65_535).ranks(2).build().validate())
        .singleElement().asString().startsWith("load-port:").contains("65534");
  }
}
