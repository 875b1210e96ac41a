package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.Cancellation;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.prompt.PreparationLimiter.Permit;
import io.kvasir.prompt.PromptSettings;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Large requests wait for a processor; small ones do not. */
@Timeout(60)
final class PreparationTest {
  private static final int LARGE = 20 << 10;

  private static String chat(int bytes) {
    return "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"" + "a".repeat(bytes) + "\"}]}";
  }

  private static TestRouter router(Duration wait) throws IOException {
    return new TestRouter(new PromptSettings(1 << 20, 1, wait));
  }

  private static ScriptedPod pod(TestRouter router) throws IOException {
    ScriptedPod pod = new ScriptedPod((request, out) -> out.json(200, "{}"));
    router.cells.worker("w0", pod.url(), "m");
    return pod;
  }

  private static void awaitWaiting(TestRouter router, int count) {
    while (router.metric("kvasir_preparations_waiting") != count) {
      Thread.onSpinWait();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/v1/chat/completions", "/v1/route/v1/chat/completions"})
  void request_largeAndNoProcessorInTime_isRefusedWhileSmallOnesAreAnswered(String path) throws Exception {
    try (TestRouter router = router(Duration.ofMillis(1)); ScriptedPod _ = pod(router)) {
      try (Permit _ = router.prompts.limiter().acquire(LARGE, Cancellation.NONE)) {
        HttpResponse<String> refused = router.post(path, chat(LARGE));
        assertThat(refused.statusCode()).isEqualTo(503);
        assertThat(refused.headers().firstValue("Retry-After")).hasValue("2");
        assertThat(refused.body()).contains("preparation_overload", "server_error");
        assertThat(refused.headers().firstValue("X-Router-Refusal").orElseThrow())
            .matches("gate=preparation; knob=prompt.preparation-wait; measured=\\d+; limit=1; unit=ms; retryable=true");
        assertThat(router.metric("kvasir_refusals", "preparation", "prompt.preparation-wait")).isEqualTo(1);
        assertThat(router.post(path, chat(100)).statusCode()).isEqualTo(200);
      }
      assertThat(router.post(path, chat(LARGE)).statusCode()).isEqualTo(200);
      assertThat(router.metric("kvasir_preparation_wait_seconds", "refused")).isEqualTo(1);
    }
  }

  @Test
  void request_large_isAnsweredWhenItsTurnHasCome() throws Exception {
    try (TestRouter router = router(Duration.ofMinutes(1)); ScriptedPod _ = pod(router)) {
      CompletableFuture<HttpResponse<String>> answer;
      try (Permit _ = router.prompts.limiter().acquire(LARGE, Cancellation.NONE)) {
        answer = CompletableFuture.supplyAsync(() -> {
          try {
            return router.post("/v1/chat/completions", chat(LARGE));
          } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
          }
        });
        awaitWaiting(router, 1);
      }
      assertThat(answer.join().statusCode()).isEqualTo(200);
    }
  }

  @Test
  void client_leavesWhileItWaits_leavesTheQueue() throws Exception {
    try (TestRouter router = router(Duration.ofMinutes(1)); ScriptedPod _ = pod(router);
        Permit _ = router.prompts.limiter().acquire(LARGE, Cancellation.NONE)) {
      try (Socket socket = router.connect()) {
        socket.getOutputStream().write(TestRouter.wire("/v1/chat/completions", chat(LARGE)));
        awaitWaiting(router, 1);
      }
      awaitWaiting(router, 0);
      while (router.metric("kvasir_requests", "499") != 1) {
        Thread.onSpinWait();
      }
      assertThat(router.metric("kvasir_client_aborts", "waiting")).isEqualTo(1);
      assertThat(router.metric("kvasir_preparation_wait_seconds", "cancelled")).isEqualTo(1);
    }
  }
}
