package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.kvasir.execution.FakeCells;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.client.PodKeys;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.prompt.EngineTokenizer.RefusedException;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Engines' {@code /tokenize} over real sockets. */
final class HttpTokenizerTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private static final String MODEL = "m";

  private final HttpCalls calls = new HttpCalls();
  private final ExecutorService background = Executors.newVirtualThreadPerTaskExecutor();

  @AfterEach
  void close() {
    calls.close();
    background.shutdownNow();
  }

  private HttpTokenizer tokenizer(PodKeys keys, @Nullable URI pod, Duration timeout) {
    FakeCells cells = new FakeCells();
    if (pod != null) {
      cells.worker("pod", pod, MODEL);
    }
    EngineVersions engines = new EngineVersions(cells, cells.pods, calls, keys, background, TIMEOUT);
    return new HttpTokenizer(calls, keys, engines, MODEL, timeout);
  }

  private int[] tokenize(int status, String answer) throws IOException {
    byte[] body = answer.getBytes(StandardCharsets.UTF_8);
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/tokenize", exchange -> {
      exchange.getRequestBody().readAllBytes();
      exchange.sendResponseHeaders(status, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
    try {
      URI pod = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
      return tokenizer(PodKeys.NONE, pod, TIMEOUT).tokenize("{\"prompt\":\"SECRET\"}");
    } finally {
      server.stop(0);
    }
  }

  @Test
  void tokenize_showsThePodsKey() throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> out.json(200, "{\"tokens\":[1,2]}"))) {
      PodKeys keys = new PodKeys(Map.of(pod.url(), PodKeys.Key.of("secret")), null);

      assertThat(tokenizer(keys, pod.url(), TIMEOUT).tokenize("{}")).containsExactly(1, 2);
      assertThat(pod.next().headers().first("Authorization")).isEqualTo("Bearer secret");
    }
  }

  private static SimEngine engine(EngineApi api) throws IOException {
    return SimEngine.start(SimSettings.builder().port(0).speed(0).api(api).events(EventSettings.OFF).build());
  }

  @Test
  void tokenize_engine_answersOrRefuses() throws Exception {
    try (SimEngine engine = engine(EngineApi.VLLM)) {
      HttpTokenizer tokenizer = tokenizer(PodKeys.NONE, engine.url(), TIMEOUT);
      assertThat(tokenizer.tokenize("{\"prompt\":\"Hello there\"}")).isNotEmpty();
      assertThat(tokenizer.tokenize("{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}")).isNotEmpty();
      assertThatThrownBy(() -> tokenizer.tokenize("{\"messages\":[{\"role\":1}]}"))
          .isInstanceOf(RefusedException.class);
    }
  }

  @Test
  void tokenize_idsOf32Bits_areRead() throws IOException {
    assertThat(tokenize(200, "{\"tokens\":[1,4294967295]}")).containsExactly(1, -1);
  }

  @ParameterizedTest
  @ValueSource(ints = {400, 413, 422, 500, 501})
  void tokenize_statusAboutThePrompt_isARefusal(int status) {
    assertThatThrownBy(() -> tokenize(status, "{\"message\":\"SECRET is bad\"}"))
        .isInstanceOf(RefusedException.class).hasMessageContaining("answered " + status)
        .hasMessageNotContaining("SECRET");
  }

  @ParameterizedTest
  @ValueSource(ints = {401, 404, 405, 429, 502, 503})
  void tokenize_statusAboutTheEngine_isAFailure(int status) {
    assertThatThrownBy(() -> tokenize(status, "{\"message\":\"SECRET\"}"))
        .isInstanceOf(IOException.class).isNotInstanceOf(RefusedException.class)
        .hasMessageContaining("answered " + status).hasMessageNotContaining("SECRET");
  }

  @ParameterizedTest
  @ValueSource(strings = {"SECRET", "{\"tokens\":[SECRET", "{\"SECRET\":1}", "{\"tokens\":[1,\"SECRET\"]}"})
  void tokenize_noTokens_isAFailureWithoutTheAnswer(String answer) {
    assertThatThrownBy(() -> tokenize(200, answer))
        .isInstanceOf(IOException.class).isNotInstanceOf(RefusedException.class).hasMessageNotContaining("SECRET");
  }

  /**
   * An engine that takes too long for a long prompt may be quick with others; one that is silent about a short, not.
   */
  @ParameterizedTest
  @CsvSource({"1000, false", "300000, true"})
  void tokenize_noAnswerInTime_isARefusalOfALongPrompt(int bytes, boolean refusal) throws IOException {
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      URI pod = URI.create("http://127.0.0.1:" + silent.getLocalPort());
      HttpTokenizer tokenizer = tokenizer(PodKeys.NONE, pod, Duration.ofMillis(50));
      assertThatThrownBy(() -> tokenizer.tokenize("a".repeat(bytes)))
          .hasMessageContaining("did not answer within")
          .matches(failure -> failure instanceof RefusedException == refusal, "is a refusal: " + refusal);
    }
  }

  @Test
  void tokenize_noPod_isAFailure() {
    assertThatThrownBy(() -> tokenizer(PodKeys.NONE, null, TIMEOUT).tokenize("{}"))
        .hasMessageContaining("no healthy");
  }
}
