package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.client.ScriptedPod;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.prompt.PromptMode;
import io.kvasir.prompt.PromptSettings;
import io.kvasir.prompt.Prompts;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Which requests' tokens are compared with the engine's. */
final class PromptSamplesTest {
  private final AtomicInteger compared = new AtomicInteger();

  /** The demo model, all of whose prompts are compared with an engine that tokenises otherwise. */
  private Prompts prompts(Metrics metrics) throws IOException {
    ModelConfig model = new ModelConfig(
        "m", Set.of(), 16, PromptMode.EXACT, ModelConfig.FileSources.in("bundled:kvasir-demo"), Map.of(), 1, true);
    return Prompts.load(
        List.of(model),
        PromptSettings.ofMemo(1 << 20),
        _ -> body -> {
          boolean ofClient = body.contains("Hello");
          compared.addAndGet(ofClient ? 1 : 0);
          return ofClient ? new int[] {1, 2} : new int[0];
        },
        Runnable::run, Clock.systemUTC(), NanoClock.SYSTEM, metrics);
  }

  private static String chat(String more) {
    return "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]" + more + "}";
  }

  @Test
  void dryRunsAndRequestsWithTemplates_areNotCompared_othersAre() throws Exception {
    try (TestRouter router = new TestRouter(this::prompts);
        ScriptedPod pod = new ScriptedPod((request, out) -> out.json(200, "{}"))) {
      router.cells.worker("w0", pod.url(), "m");
      assertThat(router.post("/v1/route/v1/chat/completions", chat("")).statusCode()).isEqualTo(200);
      assertThat(router.post("/v1/route", chat("")).statusCode()).isEqualTo(200);
      assertThat(router.post("/v1/chat/completions", chat(",\"chat_template\":\"x\"")).statusCode()).isEqualTo(200);
      assertThat(compared).hasValue(0);
      assertThat(router.post("/v1/chat/completions", chat("")).statusCode()).isEqualTo(200);
      assertThat(compared).hasValue(1);
    }
  }
}
