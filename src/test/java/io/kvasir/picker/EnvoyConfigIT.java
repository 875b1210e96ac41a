package io.kvasir.picker;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** The configuration of a plain Envoy that is given to users. */
final class EnvoyConfigIT {
  @Test
  void aRealEnvoy_takesIt() throws Exception {
    Process envoy =
        new ProcessBuilder(
                EnvoyBinary.get().toString(), "--mode", "validate", "-c", "cluster-configs/envoy/envoy.yaml")
            .redirectErrorStream(true)
            .start();
    String said = new String(envoy.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(envoy.waitFor()).as(said).isZero();
    assertThat(said).doesNotContain("[warning]");
  }
}
