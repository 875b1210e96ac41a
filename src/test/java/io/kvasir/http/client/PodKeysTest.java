package io.kvasir.http.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.http.Headers;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.ManualClock;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class PodKeysTest {
  private static final URI OTHER = URI.create("http://other:1");

  @TempDir private Path directory = Path.of("");

  @Test
  void podsKey_takesThePlaceOfTheClients() throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> out.json(200, "{}"))) {
      Headers sent = Headers.of("authorization", "Bearer client", "X-Api-Key", "client", "X-Own", "stays");
      PodKeys keys = new PodKeys(Map.of(pod.url(), PodKeys.Key.of("secret")), null);

      assertThat(received(keys, pod, sent).toString())
          .contains("Authorization: Bearer secret\n", "X-Own: stays\n").doesNotContain("client");
      assertThat(received(PodKeys.NONE, pod, sent).toString()).contains("Bearer client", "X-Api-Key: client");
    }
  }

  @Test
  void podWithoutAKeyOfItsOwn_hasThatOfAll() {
    PodKeys keys = new PodKeys(Map.of(OTHER, PodKeys.Key.of("own")), PodKeys.Key.of("all"));

    assertThat(keys.of(OTHER)).isEqualTo("own");
    assertThat(keys.of(URI.create("http://any:1"))).isEqualTo("all");
    assertThat(PodKeys.NONE.of(OTHER)).isNull();
    assertThat(PodKeys.Key.of("own")).hasToString("***");
  }

  @Test
  void file_mayBeReplaced_andIsKeptWhileItCannotBeRead() throws Exception {
    ManualClock clock = new ManualClock();
    Path file = Files.writeString(directory.resolve("key"), "first\n");
    PodKeys keys = new PodKeys(Map.of(), PodKeys.Key.in(file, clock));
    Files.writeString(file, "second\n");
    assertThat(keys.of(OTHER)).isEqualTo("first");
    clock.advance(Duration.ofSeconds(5));
    assertThat(keys.of(OTHER)).isEqualTo("second");
    Files.delete(file);
    clock.advance(Duration.ofSeconds(5));
    assertThat(keys.of(OTHER)).isEqualTo("second");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "\n", "two words", "two\nlines", "\u00e4"})
  void file_withoutOneKey_isRefused(String text) throws Exception {
    Path file = Files.writeString(directory.resolve("key"), text);

    assertThatThrownBy(() -> PodKeys.Key.in(file, NanoClock.SYSTEM)).isInstanceOf(IOException.class);
  }

  private static Headers received(PodKeys keys, ScriptedPod pod, Headers sent) throws Exception {
    try (PodClient client = new PodClient(
        PodClient.Settings.defaults().withKeys(keys), new Metrics(new PrometheusRegistry()), NanoClock.SYSTEM)) {
      client.call(new PodRequest(pod.url(), "POST", "/v1/completions", sent, new byte[0])).send().readAll(100);
      return pod.next().headers();
    }
  }
}
