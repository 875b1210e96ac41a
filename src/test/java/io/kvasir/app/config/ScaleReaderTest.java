package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.config.KvasirConfig.ScalingConfig;
import io.kvasir.cell.FromZeroSettings;
import io.kvasir.routing.Role;
import io.kvasir.scale.ScaleGoals;
import io.kvasir.scale.ScaleTarget;
import io.kvasir.scale.keda.KedaSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class ScaleReaderTest {
  private static final Config DEFAULTS = ConfigFactory.parseResources("kvasir.conf").resolve();
  private static final ScaleGoals STANDARD =
      new ScaleGoals(
          Duration.ofSeconds(2), Duration.ofMillis(50), 0.7, Duration.ofMinutes(5), Duration.ofMinutes(10), 1, 256);

  private final List<ConfigFault> faults = new ArrayList<>();

  private ScalingConfig read(String settings) {
    Config scale = ConfigFactory.parseString(settings).withFallback(DEFAULTS.getConfig("kvasir.scale"));
    return ScaleReader.read(new ConfigSection(scale, "kvasir.scale", faults));
  }

  @Test
  void byDefault_thereIsAdvice_andNoListener() {
    ScalingConfig read = read("");
    assertThat(faults).isEmpty();
    assertThat(read.advice().enabled()).isTrue();
    assertThat(read.advice().standard()).isEqualTo(STANDARD);
    assertThat(read.keda()).isNull();
  }

  @Test
  void roles_areChecked() {
    read("models = [{ name = llama, least = 0, roles = [reader] }]");
    assertThat(faults).singleElement()
        .satisfies(fault -> assertThat(fault.toString()).contains("roles", "'reader' is no role"));
  }

  @Test
  void everySetting_isRead() {
    ScalingConfig read =
        read(
            """
            interval = 1 s, first-token = 1 s, per-token = 20 ms, prefill-share = 0.5, startup = 1 m, settle = 2 m
            least = 0, most = 9
            models = [{ name = llama, first-token = 5 s, most = 3, roles = [prefill, decode] }]
            from-zero { wait = 3 m, most-waiting = 7 }
            keda { enabled = on, host = "127.0.0.1", port = 7 }
            """);
    assertThat(faults).isEmpty();
    assertThat(read.advice().interval()).isEqualTo(Duration.ofSeconds(1));
    assertThat(read.advice().byModel())
        .isEqualTo(
            Map.of(
                "llama",
                new ScaleGoals(
                    Duration.ofSeconds(5), Duration.ofMillis(20), 0.5, Duration.ofMinutes(1), Duration.ofMinutes(2), 0,
                    3)));
    assertThat(read.advice().fromZero())
        .containsExactlyInAnyOrder(new ScaleTarget("llama", Role.PREFILL), new ScaleTarget("llama", Role.DECODE));
    assertThat(read.fromZero()).isEqualTo(new FromZeroSettings(Set.of("llama"), Duration.ofMinutes(3), 7));
    assertThat(read.keda()).isEqualTo(new KedaSettings("127.0.0.1", 7, null));
  }

  @Test
  void faults_areAllNamed() {
    var _ = read(
        """
        enabled = off, least = 5, most = 3, prefill-share = 2, startp = 1 m
        models = [{ name = a }, { name = a, per-tokn = 1 s }]
        keda { enabled = on, tls.certificate = "/none" }
        """);
    assertThat(faults.stream().map(ConfigFault::toString).distinct()).satisfiesOnlyOnce(fault -> assertThat(fault)
        .contains("models").contains("'a' is described twice"));
    assertThat(faults.toString())
        .contains("3 is below least, 5", "prefill-share", "startp", "per-tokn", "needs kvasir.scale.enabled",
            "tls.key");
  }
}
