package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.kvasir.cell.EngineReport;
import io.kvasir.http.client.PodKeys;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.SimSettings;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Probes of engines over real sockets. */
final class HttpProbeTest {
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
    try (SimEngine engine = SimEngine.start(SimSettings.builder().port(0).speed(0).build())) {
      assertThat(well(engine.url()).join()).isTrue();
      assertThat(reports(engine.url()).join()).containsOnly(Map.entry(0, new EngineReport(0, 0, 0)));
    }
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
  void silentEngine_isUnwell() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      assertThat(well(URI.create("http://127.0.0.1:" + silent.getLocalPort())).join()).isFalse();
    }
  }

  @Test
  void nobodyThere_isNoAnswerAtAll() throws Exception {
    int port;
    try (ServerSocket closed = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      port = closed.getLocalPort();
    }
    assertThatThrownBy(() -> well(URI.create("http://127.0.0.1:" + port)).join())
        .isInstanceOf(CompletionException.class);
  }
}
