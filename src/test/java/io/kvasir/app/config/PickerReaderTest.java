package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.picker.PickerSettings;
import io.kvasir.pools.ModelRewrite;
import io.kvasir.pools.Objective;
import io.kvasir.pools.Pool;
import io.kvasir.pools.PoolSet;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class PickerReaderTest {
  private static final Config DEFAULTS = ConfigFactory.parseResources("kvasir.conf").resolve();
  private static final long HEAP = 1000 << 20;

  private final List<ConfigFault> faults = new ArrayList<>();

  @Test
  void off_byDefault() {
    assertThat(read("")).isNull();
    assertThat(faults).isEmpty();
  }

  @Test
  void everySetting_isRead() {
    PickerSettings read =
        read(
            """
            enabled = on, port = 1, health-port = 2, tls.enabled = off, max-body = 1 MiB, memory-share = 0.5
            keys = off, fallbacks = 2, early-close = on, unseen-booking = 3 s, conformance = on
            pools = [
              { name = prod/llama, workers { app = llama }, ports = [8000, 8001], authorities = [picker.prod]
                models = [llama], port = 7
                rewrites = [{ models = [gpt], targets = [{ model = a, weight = 3 }, { model = b }] }]
                objectives { batch = -1 } }
              { name = small }
            ]
            """);

    assertThat(faults).isEmpty();
    assertThat(read)
        .isEqualTo(
            new PickerSettings(
                new PickerSettings.Listener("0.0.0.0", 1, 2, false, null),
                PickerSettings.Limits.of(1 << 20, HEAP / 2),
                false,
                2,
                true,
                Duration.ofSeconds(3),
                true,
                new PoolSet(
                    List.of(
                        new Pool(
                            "prod", "llama", Map.of("app", "llama"), List.of(8000, 8001), Set.of("picker.prod"),
                            Set.of("llama"), 7),
                        new Pool("default", "small", Map.of(), List.of(), Set.of(), Set.of(), 0)),
                    List.of(
                        new ModelRewrite(
                            "llama",
                            "prod/llama",
                            List.of(
                                new ModelRewrite.Rule(
                                    Set.of("gpt"),
                                    List.of(new ModelRewrite.Target("a", 3), new ModelRewrite.Target("b", 1)))))),
                    List.of(new Objective("prod/llama", "batch", -1)))));
  }

  @Test
  void faults_areAllTold_thoughItIsOff() {
    assertThat(
            read(
                """
                health-port = 9002, fallbacks = 16, tsl {}
                pools = [
                  { name = a/b/c }
                  { name = a, port = 9002, ports = [0, x], rewrites = [{ targets = [] }] }
                  { name = default/a, workrs {} }
                ]
                """))
        .isNull();

    assertThat(faults.stream().map(ConfigFault::toString))
        .satisfiesExactlyInAnyOrder(
            fault -> assertThat(fault).contains("health-port", "is the same as port"),
            fault -> assertThat(fault).contains("fallbacks", "from 0 to 15"),
            fault -> assertThat(fault).contains("tsl", "did you mean 'tls'?"),
            fault -> assertThat(fault).contains("pools[0].name", "NAMESPACE/NAME"),
            fault -> assertThat(fault).contains("pools[1].port", "9002 is taken"),
            fault -> assertThat(fault).contains("pools[1].ports", "'0'"),
            fault -> assertThat(fault).contains("pools[1].ports", "'x'"),
            fault -> assertThat(fault).contains("targets", "is empty"),
            fault -> assertThat(fault).contains("pools[2].name", "described twice"),
            fault -> assertThat(fault).contains("workrs", "did you mean 'workers'?"));
  }

  private @Nullable PickerSettings read(String own) {
    Config config = ConfigFactory.parseString("kvasir.picker {" + own + "}").withFallback(DEFAULTS).resolve();
    return PickerReader.read(new ConfigSection(config.getConfig("kvasir.picker"), "kvasir.picker", faults), HEAP);
  }
}
