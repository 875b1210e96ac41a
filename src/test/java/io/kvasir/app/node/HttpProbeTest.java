package io.kvasir.app.node;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.kvasir.cell.EngineReport;
import io.kvasir.engines.LoadGauge;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodKeys;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.load.Ports;
import io.kvasir.routing.Retention;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Probes of engines over real sockets. */
@Isolated("counts threads")
final class HttpProbeTest {
  /** Longer than any buffer. */
  private static final String LONG_METRICS =
      "vllm:request_success_total{finished_reason=\"stop\"} 1\n".repeat(5_000) + "vllm:num_requests_waiting 7\n";

  private final HttpProbe probe = new HttpProbe(Duration.ofMillis(500), null, PodKeys.NONE);

  @AfterEach
  void close() {
    probe.close();
  }

  private CompletableFuture<Boolean> well(URI pod) {
    return probe.probe(pod).toCompletableFuture();
  }

  private CompletableFuture<Map<Integer, EngineReport>> reports(URI pod) {
    return probe.reports(pod).toCompletableFuture();
  }

  @Test
  void engine_isWell_andReportsItsLoad() throws Exception {
    try (SimEngine engine = SimEngine.start(SimSettings.builder().port(0).speed(0).events(EventSettings.OFF).build())) {
      assertThat(well(engine.url()).join()).isTrue();
      assertThat(reports(engine.url()).join()).containsOnly(Map.entry(0, new EngineReport(0, 0, 0)));
    }
  }

  @Test
  void canary_isAnsweredOnceTheEngineMoves() throws Exception {
    try (SimEngine engine =
        SimEngine.start(SimSettings.builder().port(0).speed(0).model("m").events(EventSettings.OFF).build())) {
      engine.setCondition(EngineCondition.WEDGE, true);
      CompletableFuture<Boolean> canary = canary(engine.url(), "m");
      await("it waits there", () -> engine.stats().running() + engine.stats().waiting() == 1);
      assertThat(well(engine.url()).join()).isTrue();
      assertThat(canary).isNotDone();

      engine.setCondition(EngineCondition.WEDGE, false);
      assertThat(canary.join()).isTrue();
    }
  }

  @Test
  void canary_isRefused_whereItsModelIsNotServed() throws Exception {
    try (SimEngine engine =
        SimEngine.start(SimSettings.builder().port(0).speed(0).model("m").events(EventSettings.OFF).build())) {
      assertThat(canary(engine.url(), "another").join()).isFalse();
    }
  }

  private CompletableFuture<Boolean> canary(URI pod, String model) {
    Worker worker =
        new Worker("w#1", "w", pod, 1, 2, 0, Role.BOTH, Set.of(model), Map.of(), 1, "engine", null, Retention.NONE);
    return probe.canary(worker).toCompletableFuture();
  }

  @Test
  void engineWithErrors_isUnwell_andReportsNothing() throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", exchange -> {
      exchange.sendResponseHeaders(503, -1);
      exchange.close();
    });
    server.start();
    try {
      URI pod = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
      assertThat(well(pod).join()).isFalse();
      assertThat(reports(pod).join()).isEmpty();
    } finally {
      server.stop(0);
    }
  }

  @Test
  void probes_showThePodsKey() throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> out.json(200, ""));
        HttpProbe keyed = new HttpProbe(
            Duration.ofSeconds(60), null, new PodKeys(Map.of(), PodKeys.Key.of("secret")))) {
      keyed.probe(pod.url()).toCompletableFuture().join();
      keyed.reports(pod.url()).toCompletableFuture().join();

      assertThat(pod.next().headers().first("Authorization")).isEqualTo("Bearer secret");
      assertThat(pod.next().headers().first("Authorization")).isEqualTo("Bearer secret");
    }
  }

  @Test
  void probesOneAfterTheOther_shareAConnection() throws Exception {
    Set<Integer> ports = ConcurrentHashMap.newKeySet();
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", exchange -> {
      ports.add(exchange.getRemoteAddress().getPort());
      boolean health = exchange.getRequestURI().getPath().equals("/health");
      byte[] body = health ? new byte[0] : LONG_METRICS.getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(200, health ? -1 : body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
    try {
      URI pod = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
      for (int i = 0; i < 4; i++) {
        assertThat(well(pod).join()).isTrue();
        assertThat(reports(pod).join()).containsOnly(Map.entry(0, new EngineReport(-1, 7, -1)));
      }
      assertThat(ports).hasSize(1);
    } finally {
      server.stop(0);
    }
  }

  @Test
  void engineThatClosedItsIdleConnection_isAskedOnAnother() throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> out.raw("HTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n"))) {
      for (int i = 0; i < 3; i++) {
        assertThat(well(pod.url()).join()).isTrue();
      }
    }
  }

  @Test
  void manyProbesAtOnce_haveNoThreadsOfTheirOwn() throws Exception {
    int many = 300;
    CountDownLatch asked = new CountDownLatch(many);
    CountDownLatch answer = new CountDownLatch(1);
    try (HttpProbe patient = new HttpProbe(Duration.ofSeconds(60), null, PodKeys.NONE);
        ScriptedPod pod = new ScriptedPod((request, out) -> {
          asked.countDown();
          answer.await();
          out.json(200, "");
        })) {
      int before = ManagementFactory.getThreadMXBean().getThreadCount();
      List<CompletableFuture<Boolean>> probes = new ArrayList<>();
      for (int i = 0; i < many; i++) {
        probes.add(patient.probe(pod.url()).toCompletableFuture());
      }
      assertThat(asked.await(60, TimeUnit.SECONDS)).isTrue();
      int during = ManagementFactory.getThreadMXBean().getThreadCount();
      answer.countDown();
      assertThat(probes).allMatch(CompletableFuture::join);
      assertThat(during - before).isLessThan(many / 4);
    }
  }

  @Test
  void engineThatNeverEndsItsAnswer_isUnwell() throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {
      out.raw("HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\nw");
      out.awaitClosed();
    })) {
      assertThat(well(pod.url()).join()).isFalse();
    }
  }

  @Test
  void engineThatTellsItsLoadAlone_isNotAskedForAllOfItsMetrics() throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> out.json(200, "vllm:num_requests_waiting 7\n"))) {
      for (int i = 0; i < 2; i++) {
        assertThat(reports(pod.url()).join()).containsOnly(Map.entry(0, new EngineReport(-1, 7, -1)));
        assertThat(URLDecoder.decode(pod.next().target(), StandardCharsets.UTF_8))
            .startsWith("/metrics/?name[]=")
            .contains("&name[]=vllm:num_requests_waiting");
      }
    }
  }

  @Test
  void engineThatDoesNot_isAskedForAllOfThemFromThenOn() throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) ->
        out.json(request.target().equals("/metrics") ? 200 : 404, "vllm:num_requests_waiting 7\n"))) {
      for (int i = 0; i < 2; i++) {
        assertThat(reports(pod.url()).join()).containsOnly(Map.entry(0, new EngineReport(-1, 7, -1)));
      }
      assertThat(pod.next().target()).startsWith("/metrics/?");
      assertThat(pod.next().target()).isEqualTo(LoadGauge.SGLANG_LOADS);
      assertThat(pod.next().target()).isEqualTo("/metrics");
      assertThat(pod.next().target()).isEqualTo("/metrics");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "",
    "HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nvllm:num_requests_waiting 9\n",
    "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n",
    "220 mail.example ESMTP\r\n",
    "HTTP/1.1 200 X\r\nContent-Length: 27\r\n\r\n<html>no such page</html>\r\n",
    "HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\n{}"
  })
  void engineThatBreaksOff_orAnswersSomethingElse_isAskedForAllOfThem(String answer) throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {
      if (request.target().equals("/metrics")) {
        out.json(200, "vllm:num_requests_waiting 7\n");
      } else {
        out.raw(answer);
      }
    })) {
      for (int i = 0; i < 2; i++) {
        assertThat(reports(pod.url()).join()).containsOnly(Map.entry(0, new EngineReport(-1, 7, -1)));
      }
      assertThat(pod.next().target()).startsWith("/metrics/?");
      assertThat(pod.next().target()).isEqualTo(LoadGauge.SGLANG_LOADS);
      assertThat(pod.next().target()).isEqualTo("/metrics");
      assertThat(pod.next().target()).isEqualTo("/metrics");
    }
  }

  /** As SGLang 0.5.23 answers with two ranks, with or without --enable-metrics. */
  @Test
  void sglangsLoads_areReadRankByRank_andItsOtherMetricsNotAskedFor_untilItIsAnotherEngine() throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {
      if (request.target().startsWith("/v1/loads?")) {
        out.json(200, """
            # TYPE sglang_num_running_reqs gauge
            sglang_num_running_reqs{dp_rank="0"} 3
            sglang_num_running_reqs{dp_rank="1"} 0
            # TYPE sglang_num_waiting_reqs gauge
            sglang_num_waiting_reqs{dp_rank="0"} 2
            sglang_num_waiting_reqs{dp_rank="1"} 0
            # TYPE sglang_num_waiting_uncached_tokens gauge
            sglang_num_waiting_uncached_tokens{dp_rank="0"} 4096
            sglang_num_waiting_uncached_tokens{dp_rank="1"} 0
            # TYPE sglang_token_usage gauge
            sglang_token_usage{dp_rank="0"} 0.25
            sglang_token_usage{dp_rank="1"} 0.0
            """);
      } else {
        out.json(404, "{\"detail\":\"Not Found\"}");
      }
    })) {
      for (int i = 0; i < 2; i++) {
        assertThat(reports(pod.url()).join())
            .isEqualTo(Map.of(0, new EngineReport(3, 2, 0.25), 1, new EngineReport(0, 0, 0)));
      }
      assertThat(pod.next().target()).startsWith("/metrics/?");
      assertThat(pod.next().target()).isEqualTo(LoadGauge.SGLANG_LOADS);
      assertThat(pod.next().target()).isEqualTo(LoadGauge.SGLANG_LOADS);

      pod.script((request, out) ->
          out.json(request.target().startsWith("/metrics/?") ? 200 : 404, "vllm:num_requests_waiting 7\n"));
      assertThat(reports(pod.url()).join()).isEmpty();
      assertThat(reports(pod.url()).join()).containsOnly(Map.entry(0, new EngineReport(-1, 7, -1)));
    }
  }

  @Test
  void engineThatBreaksOffEverything_isAskedForItsLoadAloneAgain() throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {})) {
      assertThatThrownBy(() -> reports(pod.url()).join()).isInstanceOf(CompletionException.class);

      pod.script((request, out) -> out.json(200, "vllm:num_requests_waiting 7\n"));
      pod.seen.clear();
      assertThat(reports(pod.url()).join()).containsOnly(Map.entry(0, new EngineReport(-1, 7, -1)));
      assertThat(pod.next().target()).startsWith("/metrics/?");
    }
  }

  /** SGLang's page of chosen metrics is empty; llm-d's simulator has none. */
  @ParameterizedTest
  @EnumSource(names = {"VLLM", "SGLANG", "LLM_D"})
  void engineOfEachKind_reportsItsLoad(EngineApi api) throws Exception {
    try (SimEngine engine =
        SimEngine.start(SimSettings.builder().port(0).speed(0).api(api).events(EventSettings.OFF).build())) {
      assertThat(reports(engine.url()).join()).containsOnly(Map.entry(0, new EngineReport(0, 0, 0)));
    }
  }

  /** As Dynamo's frontend, which lists its workers. */
  @Test
  void engineThatTellsAtLengthHowItIs_isWell() throws Exception {
    try (ScriptedPod pod = new ScriptedPod((request, out) -> out.json(200, "x".repeat(1 << 20)))) {
      assertThat(well(pod.url()).join()).isTrue();
      assertThat(well(pod.url()).join()).isTrue();
    }
  }

  /** As SGLang 0.5.23: an empty answer, and 200 for sessions that it does not know, too. */
  @Test
  void release_closesTheProgramsSession() throws Exception {
    try (ScriptedPod pod =
        new ScriptedPod((request, out) -> out.json(request.target().equals("/close_session") ? 200 : 404, ""))) {
      CompletableFuture<Boolean> agreed =
          probe.release(pod.url(), Retention.SGLANG, "acme/\"7\"").toCompletableFuture();
      assertThat(agreed.join()).isTrue();
      var request = pod.next();
      assertThat(request.method()).isEqualTo("POST");
      assertThat(new String(request.body(), StandardCharsets.UTF_8)).isEqualTo("{\"session_id\":\"acme/\\\"7\\\"\"}");

      pod.script((_, out) -> out.json(500, "{}"));
      assertThat(probe.release(pod.url(), Retention.SGLANG, "p").toCompletableFuture().join()).isFalse();
      assertThat(probe.release(pod.url(), Retention.NONE, "p").toCompletableFuture().join()).isTrue();
    }
  }

  @Test
  void release_whereNobodyIs_fails() throws Exception {
    URI nobody = URI.create("http://127.0.0.1:" + Ports.free());
    assertThat(probe.release(nobody, Retention.SGLANG, "p").toCompletableFuture())
        .failsWithin(Duration.ofSeconds(20)).withThrowableThat().withCauseInstanceOf(PodException.class);
  }

  @Test
  void silentEngine_isUnwell() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      assertThat(well(URI.create("http://127.0.0.1:" + silent.getLocalPort())).join()).isFalse();
    }
  }

  @Test
  void nobodyThere_isNoAnswerAtAll() throws Exception {
    URI nobody = URI.create("http://127.0.0.1:" + Ports.free());
    assertThatThrownBy(() -> well(nobody).join())
        .isInstanceOf(CompletionException.class);
  }
}
