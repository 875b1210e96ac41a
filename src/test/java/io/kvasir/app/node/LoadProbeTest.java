package io.kvasir.app.node;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.kvasir.cell.EngineReport;
import io.kvasir.http.client.PodKeys;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** Load that engines push, over real sockets. */
final class LoadProbeTest {
  /** What {@code /metrics} of a {@link ScriptedEngine} says. */
  private static final Map<Integer, EngineReport> POLLED = Map.of(0, new EngineReport(-1, 9, -1));

  /** SGLang's {@code LoadStat(7, 300, 65536, 131072, 0)}, with the fields that every version has. */
  private static final byte[] LOAD =
      HexFormat.of().parseHex("96a84c6f61645374617407cd012cce00010000ce0002000000");

  private static final EngineReport PUSHED = new EngineReport(7, 300, 0.5);

  private final Metrics metrics = new Metrics(new PrometheusRegistry());
  private final ManualClock clock = new ManualClock();
  private final EventStreams streams = new EventStreams(metrics);
  private final LoadProbe probe =
      new LoadProbe(new HttpProbe(Duration.ofSeconds(60), null, PodKeys.NONE), streams, metrics, clock);

  @AfterEach
  void close() {
    probe.close();
    streams.close();
  }

  private Map<Integer, EngineReport> reports(URI pod) {
    return probe.reports(pod).toCompletableFuture().join();
  }

  private String metricsPage() {
    ByteArrayOutputStream page = new ByteArrayOutputStream();
    try {
      String _ = metrics.write(null, page);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return page.toString(StandardCharsets.UTF_8);
  }

  private boolean isLive() {
    return metricsPage().contains("kvasir_engine_load_feeds{state=\"live\"} 1");
  }

  private boolean isSilent() {
    return metricsPage().contains("kvasir_engine_load_feeds{state=\"silent\"} 1");
  }

  private double reads(String source) {
    String series = "kvasir_engine_load_reads_total{source=\"" + source + "\"} ";
    return metricsPage().lines().filter(line -> line.startsWith(series))
        .mapToDouble(line -> Double.parseDouble(line.substring(series.length()))).sum();
  }

  /** Reads a pod's load, so that it is asked for what it announces, until it is pushed. */
  private void awaitPushed(URI pod) {
    await(() -> {
      Map<Integer, EngineReport> _ = reports(pod);
      return isLive();
    });
  }

  private static SimSettings.Builder sglang() {
    return SimSettings.builder().port(0).speed(0).api(EngineApi.SGLANG).loadPort(0)
        .events(EventSettings.DEFAULT.withLoopback());
  }

  @Test
  void engineThatAnnouncesItsLoad_isReadByPush_eachRankByItself() throws Exception {
    try (SimEngine engine = SimEngine.start(sglang().ranks(2).build())) {
      awaitPushed(engine.url());

      double polled = reads("polled");
      assertThat(reports(engine.url()))
          .containsOnly(Map.entry(0, new EngineReport(0, 0, 0)), Map.entry(1, new EngineReport(0, 0, 0)));
      assertThat(reads("pushed")).isPositive();
      assertThat(reads("polled")).isEqualTo(polled);
    }
  }

  @Test
  void engineThatFallsSilent_isPolled_untilItPushesAgain() throws Exception {
    try (SimEngine engine = SimEngine.start(sglang().build())) {
      awaitPushed(engine.url());

      engine.setCondition(EngineCondition.SILENT, true);
      awaitPolled();
      double polled = reads("polled");
      assertThat(reports(engine.url())).containsOnly(Map.entry(0, new EngineReport(0, 0, 0)));
      assertThat(reads("polled")).isEqualTo(polled + 1);

      engine.setCondition(EngineCondition.SILENT, false);
      awaitPushed(engine.url());
    }
  }

  @Test
  void engineThatDied_isPolled_andReadByPushWhenItIsThereAgain() throws Exception {
    try (SimEngine engine = SimEngine.start(sglang().build())) {
      awaitPushed(engine.url());

      engine.crash();
      awaitPolled();
      assertThat(probe.reports(engine.url()).toCompletableFuture())
          .failsWithin(Duration.ofSeconds(60)).withThrowableThat().withCauseInstanceOf(Exception.class);

      engine.restart();
      await(this::isLive);
      assertThat(reports(engine.url())).containsOnly(Map.entry(0, new EngineReport(0, 0, 0)));
    }
  }

  /** A message that was under way may count once more. */
  private void awaitPolled() {
    await(() -> {
      clock.advance(PushedLoad.SILENCE);
      return isSilent();
    });
  }

  @Test
  void messages_countByTheirArrival_whateverTheirNumbers() throws Exception {
    try (ScriptedEngine engine = new ScriptedEngine(1)) {
      awaitPushed(engine, 5);
      assertThat(reports(engine.url())).containsOnly(Map.entry(0, PUSHED));

      byte[] other = LOAD.clone();
      other[10] = 8;
      await(() -> {
        engine.send(3, other);
        return reports(engine.url()).equals(Map.of(0, new EngineReport(8, 300, 0.5)));
      });
    }
  }

  @Test
  void malformedMessages_areCounted_andChangeNothing() throws Exception {
    try (ScriptedEngine engine = new ScriptedEngine(1)) {
      awaitPushed(engine, 0);
      await(() -> {
        engine.send(1, "no message".getBytes(StandardCharsets.UTF_8));
        engine.sendFrames("load".getBytes(StandardCharsets.UTF_8));
        engine.sendFrames("load".getBytes(StandardCharsets.UTF_8), new byte[3], LOAD);
        return metricsPage().lines().anyMatch(line ->
            line.startsWith("kvasir_engine_load_malformed_total ") && !line.endsWith(" 0.0"));
      });
      assertThat(reports(engine.url())).containsOnly(Map.entry(0, PUSHED));

      clock.advance(PushedLoad.SILENCE);
      await(() -> {
        engine.send(2, new byte[] {0});
        return isSilent();
      });
      assertThat(reports(engine.url())).isEqualTo(POLLED);
      awaitPushed(engine, 0);
    }
  }

  @Test
  void engineOfWhichOneRankIsSilent_isPolled() throws Exception {
    try (ScriptedEngine engine = new ScriptedEngine(2)) {
      await(() -> {
        engine.send(0, LOAD);
        Map<Integer, EngineReport> _ = reports(engine.url());
        return isSilent();
      });
      engine.send(1, LOAD);
      assertThat(reports(engine.url())).isEqualTo(POLLED);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {200, 404})
  void engineThatAnnouncesNothing_isLeftAlone(int status) throws Exception {
    try (ScriptedEngine engine = new ScriptedEngine(1)) {
      engine.announce(status, "{}");
      assertThat(reports(engine.url())).isEqualTo(POLLED);
      await(() -> engine.inquiries() == 1);
      for (int minute = 0; minute < 300; minute++) {
        clock.advance(Duration.ofMinutes(1));
        assertThat(reports(engine.url())).isEqualTo(POLLED);
        assertThat(probe.probe(engine.url()).toCompletableFuture()).succeedsWithin(Duration.ofSeconds(60));
      }
      assertThat(engine.inquiries()).isEqualTo(1);
      await(() -> {
        clock.advance(Duration.ofHours(6));
        Map<Integer, EngineReport> _ = reports(engine.url());
        return engine.inquiries() > 1;
      });
    }
  }

  @Test
  void engineThatAnnouncedNothing_isAskedAgainOnceItWasLost() throws Exception {
    try (SimEngine vllm = SimEngine.start(SimSettings.builder().port(0).speed(0).events(EventSettings.OFF).build())) {
      assertThat(reports(vllm.url())).containsOnly(Map.entry(0, new EngineReport(0, 0, 0)));
      vllm.crash();
      assertThat(probe.probe(vllm.url()).toCompletableFuture())
          .failsWithin(Duration.ofSeconds(60));
      try (SimEngine sglang = SimEngine.start(sglang().port(vllm.url().getPort()).build())) {
        await(() -> {
          assertThat(probe.probe(sglang.url()).toCompletableFuture()).succeedsWithin(Duration.ofSeconds(60));
          Map<Integer, EngineReport> _ = reports(sglang.url());
          return isLive();
        });
      }
    }
  }

  @Test
  void engineThatDidNotAnswer_isAskedAgainOnceItWasLost() throws Exception {
    try (ScriptedEngine engine = new ScriptedEngine(1)) {
      engine.announce(503, "");
      assertThat(reports(engine.url())).isEqualTo(POLLED);
      await(() -> engine.inquiries() == 1);

      engine.announce(200, engine.feed());
      engine.setHealth(503);
      assertThat(probe.probe(engine.url()).toCompletableFuture().join()).isFalse();
      engine.setHealth(200);
      assertThat(probe.probe(engine.url()).toCompletableFuture().join()).isTrue();
      awaitPushed(engine, 0);
    }
  }

  @Test
  void engineThatCameUpLate_isAskedAgain_andAnotherFeedReplacesTheFirst() throws Exception {
    try (ScriptedEngine engine = new ScriptedEngine(1); ScriptedEngine other = new ScriptedEngine(1)) {
      engine.announce(503, "");
      assertThat(reports(engine.url())).isEqualTo(POLLED);
      await(() -> engine.inquiries() == 1);

      engine.announce(200, engine.feed());
      await(() -> {
        clock.advance(Duration.ofMinutes(1));
        Map<Integer, EngineReport> _ = reports(engine.url());
        return isSilent();
      });
      awaitPushed(engine, 0);

      int known = engine.inquiries();
      engine.announce(200, other.feed());
      await(() -> {
        clock.advance(Duration.ofMinutes(1));
        Map<Integer, EngineReport> _ = reports(engine.url());
        return engine.inquiries() > known;
      });
      // Another load than the first feed's, of which a message may still be under way.
      byte[] load = LOAD.clone();
      load[10] = 8;
      await(() -> {
        other.send(0, load);
        return reports(engine.url()).equals(Map.of(0, new EngineReport(8, 300, 0.5)));
      });
    }
  }

  @Test
  void closedProbe_failsAndHoldsNothing() throws Exception {
    try (ScriptedEngine engine = new ScriptedEngine(1)) {
      awaitPushed(engine, 0);
      probe.close();

      assertThat(isLive() || isSilent()).isFalse();
      assertThat(probe.reports(engine.url()).toCompletableFuture())
          .failsWithin(Duration.ofSeconds(60)).withThrowableThat().withCauseInstanceOf(Exception.class);
    }
  }

  private void awaitPushed(ScriptedEngine engine, long sequence) {
    await(() -> {
      engine.send(sequence, LOAD);
      Map<Integer, EngineReport> _ = reports(engine.url());
      return isLive();
    });
  }

  /** Announces a feed of so many ranks, of which only the first has a socket, and says a load at its metrics. */
  private static final class ScriptedEngine implements AutoCloseable {
    private final ZContext context = new ZContext(1);
    private final ZMQ.Socket pub = context.createSocket(SocketType.PUB);
    private final HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    private final AtomicInteger inquiries = new AtomicInteger();
    private final String feed;
    private volatile int status = 200;
    private volatile int health = 200;
    private volatile String page;

    ScriptedEngine(int ranks) throws IOException {
      pub.setHandshakeIvl(1000);
      int port = pub.bindToRandomPort("tcp://127.0.0.1", 20_000, 60_000);
      feed = "{\"kv_events\":{\"load_endpoint_port_base\":" + port + ",\"load_topic\":\"load\",\"dp_size\":" + ranks
          + "}}";
      page = feed;
      server.createContext("/server_info", exchange -> {
        byte[] body = page.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
        inquiries.incrementAndGet();
      });
      server.createContext("/health", exchange -> {
        exchange.sendResponseHeaders(health, -1);
        exchange.close();
      });
      server.createContext("/metrics", exchange -> {
        byte[] body = "vllm:num_requests_waiting 9\n".getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
      });
      server.start();
    }

    URI url() {
      return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    String feed() {
      return feed;
    }

    int inquiries() {
      return inquiries.get();
    }

    void announce(int newStatus, String newPage) {
      page = newPage;
      status = newStatus;
    }

    void setHealth(int newHealth) {
      health = newHealth;
    }

    void send(long sequence, byte[] payload) {
      sendFrames(
          "load".getBytes(StandardCharsets.UTF_8), ByteBuffer.allocate(Long.BYTES).putLong(sequence).array(), payload);
    }

    void sendFrames(byte[]... frames) {
      for (int i = 0; i < frames.length - 1; i++) {
        pub.sendMore(frames[i]);
      }
      pub.send(frames[frames.length - 1]);
    }

    @Override
    public void close() {
      server.stop(0);
      context.close();
    }
  }
}
