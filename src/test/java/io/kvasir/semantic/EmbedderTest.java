package io.kvasir.semantic;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.http.HttpCalls;
import io.kvasir.time.NanoClock;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class EmbedderTest {
  /** As many calls as there may be at once are rejected, and none of them counts as one in progress. */
  @Test
  void embed_rejectedAtOnce_takesNoPlace() {
    SemanticSettings.EmbeddingSettings settings =
        new SemanticSettings.EmbeddingSettings(
            new SemanticSettings.EndpointSettings(URI.create("ftp://nobody"), "m", null),
            Duration.ofSeconds(60),
            new SemanticSettings.CallLimits(Duration.ofSeconds(60), Duration.ZERO, 2),
            10,
            100);
    try (HttpCalls calls = new HttpCalls()) {
      Embedder embedder =
          new Embedder(
              new EmbeddingEndpoint(calls, settings), settings,
              new SemanticMetrics(), NanoClock.SYSTEM);
      for (int i = 0; i < 5; i++) {
        assertThatThrownBy(() -> embedder.embed("the same text").orTimeout(60, TimeUnit.SECONDS).join())
            .hasMessageContaining("ftp");
      }
    }
  }
}
