package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.kvasir.app.node.Node;
import io.kvasir.load.Ports;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Two nodes before an engine that takes one request at a time: bulk gives way while its answer has not begun. */
final class PreemptionIT {
  private static final List<Node> NODES = new ArrayList<>();

  private static SlowEngine engine;

  /** An engine of one model that may keep a request, by a word in it, as it would while it computes its prompt. */
  private static final class SlowEngine implements AutoCloseable {
    private final HttpServer server;
    private final Map<String, Kept> kept = new ConcurrentHashMap<>();

    /** The bodies that it got, in order. */
    private final List<String> bodies = new CopyOnWriteArrayList<>();

    private record Kept(boolean withHead, CountDownLatch arrived, CountDownLatch released) {}

    SlowEngine() throws IOException {
      server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
      server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
      server.createContext("/", exchange -> reply(exchange, "application/json", "{}"));
      server.createContext(
          "/v1/models", exchange -> reply(exchange, "application/json", "{\"data\": [{\"id\": \"m\"}]}"));
      server.createContext("/v1/chat/completions", this::generate);
      server.start();
    }

    String url() {
      return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    /** Keeps the next request with a word. */
    Kept keep(String word, boolean withHead) {
      Kept next = new Kept(withHead, new CountDownLatch(1), new CountDownLatch(1));
      kept.put(word, next);
      return next;
    }

    private void generate(HttpExchange exchange) throws IOException {
      String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
      bodies.add(body);
      String word = kept.keySet().stream().filter(body::contains).findAny().orElse("");
      Kept its = kept.remove(word);
      if (its == null) {
        answer(exchange, body, true);
        return;
      }
      if (its.withHead()) {
        exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
        exchange.sendResponseHeaders(200, 0);
      }
      its.arrived().countDown();
      wait(its.released());
      answer(exchange, body, !its.withHead());
    }

    private static void answer(HttpExchange exchange, String body, boolean head) throws IOException {
      boolean streams = body.contains("\"stream\": true");
      String text = streams
          ? chunk("good") + chunk(" day") + "data: [DONE]\n\n"
          : "{\"id\": \"a\", \"choices\": [{\"index\": 0, \"finish_reason\": \"stop\","
              + " \"message\": {\"role\": \"assistant\", \"content\": \"good day\"}}]}";
      if (head) {
        reply(exchange, streams ? "text/event-stream" : "application/json", text);
      } else {
        try (exchange) {
          exchange.getResponseBody().write(text.getBytes(StandardCharsets.UTF_8));
        }
      }
    }

    private static void wait(CountDownLatch latch) {
      try {
        latch.await();
      } catch (InterruptedException stopped) {
        Thread.currentThread().interrupt();
      }
    }

    private static String chunk(String text) {
      return "data: {\"id\": \"a\", \"choices\": [{\"index\": 0, \"delta\": {\"content\": \"%s\"}}]}\n\n"
          .formatted(text);
    }

    private static void reply(HttpExchange exchange, String type, String text) throws IOException {
      try (exchange) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.sendResponseHeaders(200, bytes.length);
        exchange.getResponseBody().write(bytes);
      }
    }

    @Override
    public void close() {
      server.stop(0);
    }
  }

  @BeforeAll
  static void start() throws Exception {
    engine = new SlowEngine();
    List<Integer> ports = List.of(Ports.free(), Ports.free());
    for (int port : ports) {
      NODES.add(
          TestNodes.start(
              """
              kvasir {
                models = [{ name = m, mode = text, block-size = 16 }]
                pods = [{ name = slow, url = "%s", models = [m], max-in-flight = 1 }]
                admission.enabled = true
                cluster { seed-nodes = ["127.0.0.1:%d"], port = %d }
              }
              """.formatted(engine.url(), ports.getFirst(), port)));
    }
    await(() -> NODES.stream().allMatch(node -> TestNodes.serves(node, 1)));
  }

  @AfterAll
  static void stop() {
    NODES.forEach(Node::close);
    NODES.clear();
    engine.close();
  }

  @Test
  void bulk_isTakenBackForAnInteractiveRequest_andAnsweredWholeLater_whicheverNodeHoldsIt() throws Exception {
    double before = metric("kvasir_admission_preemptions_total{class=\"bulk\",result=\"preempted\"}");
    for (Node holder : NODES) {
      for (boolean streams : List.of(true, false)) {
        for (Node urgentAt : NODES) {
          takenBack(holder, urgentAt, streams);
        }
      }
    }
    assertThat(metric("kvasir_admission_preemptions_total{class=\"bulk\",result=\"preempted\"}") - before)
        .isEqualTo(8);
    assertThat(metric("kvasir_attempts_total{outcome=\"failed\"}")).isZero();
    assertThat(metric("kvasir_retries_total")).isZero();
  }

  private static void takenBack(Node holder, Node urgentAt, boolean streams) throws Exception {
    engine.bodies.clear();
    SlowEngine.Kept kept = engine.keep("bulk-work", streams);
    // kept until who gave way has its place again: a short one could end before that, and the next in line go
    SlowEngine.Kept keptUrgent = engine.keep("urgent-too", true);
    try {
      CompletableFuture<HttpResponse<String>> bulk =
          TestNodes.postAsync(
              holder, "/v1/chat/completions", body("bulk-work", streams), "X-Router-Class", "bulk");
      kept.arrived().await();
      CompletableFuture<HttpResponse<String>> later =
          TestNodes.postAsync(
              urgentAt, "/v1/chat/completions", body("later-work", false), "X-Router-Class", "bulk");
      await(() -> metric("kvasir_admission_waiting{cell=\"m\",class=\"bulk\"}") == 1);

      CompletableFuture<HttpResponse<String>> urgent = urgent(urgentAt);
      await(() -> metric("kvasir_admission_waiting{cell=\"m\",class=\"bulk\"}") == 2);
      keptUrgent.released().countDown();
      assertThat(urgent.join().statusCode()).isEqualTo(200);

      HttpResponse<String> answer = bulk.join();
      assertThat(later.join().statusCode()).isEqualTo(200);
      assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
      assertThat(answer.body()).contains(streams ? "[DONE]" : "good day").doesNotContain("error");
      assertThat(Long.parseLong(TestNodes.header(answer, "X-Router-Queued-Ms"))).isPositive();
      assertThat(engine.bodies).as("%s", answer.headers()).startsWith(
          body("bulk-work", streams), body("urgent-too", true));
      // It came some milliseconds before the later one, which a slow way back may take: no order between these two.
      assertThat(engine.bodies).as("%s", answer.headers()).containsExactlyInAnyOrder(
          body("bulk-work", streams), body("urgent-too", true), body("bulk-work", streams),
          body("later-work", false));
      await(() -> metric("kvasir_attempts_in_flight") == 0 && metric("kvasir_worker_in_flight") == 0);
    } finally {
      kept.released().countDown();
      keptUrgent.released().countDown();
    }
  }

  @Test
  void bulkThatWasTakenBackTwice_isNotAgain() throws Exception {
    Node node = NODES.getFirst();
    List<SlowEngine.Kept> all = new ArrayList<>();
    SlowEngine.Kept kept = engine.keep("patient-work", true);
    all.add(kept);
    CompletableFuture<HttpResponse<String>> bulk =
        TestNodes.postAsync(
            node, "/v1/chat/completions", body("patient-work", true), "X-Router-Class", "bulk");
    for (int times = 0; times < 2; times++) {
      kept.arrived().await();
      kept = engine.keep("patient-work", true);
      all.add(kept);
      assertThat(urgent(node).join().statusCode()).isEqualTo(200);
    }
    kept.arrived().await();
    CompletableFuture<HttpResponse<String>> third = urgent(node);
    await(() -> metric("kvasir_admission_held{cell=\"m\",class=\"interactive\",reason=\"full\"}") == 1);
    assertThat(bulk).isNotDone();
    assertThat(third).isNotDone();

    all.forEach(each -> each.released().countDown());

    assertThat(third.join().statusCode()).isEqualTo(200);
    assertThat(bulk.join().body()).contains("[DONE]");
    assertThat(engine.bodies.stream().filter(each -> each.contains("patient-work"))).hasSize(3);
    await(() -> metric("kvasir_attempts_in_flight") == 0);
  }

  private static CompletableFuture<HttpResponse<String>> urgent(Node node) {
    return TestNodes.postAsync(
        node, "/v1/chat/completions", body("urgent-too", true), "X-Router-Class", "interactive");
  }

  private static String body(String text, boolean streams) {
    return """
        {"model": "m", "stream": %s,%s "messages": [{"role": "user", "content": "%s"}]}
        """.formatted(streams, streams ? " \"stream_options\": {\"include_usage\": true}," : "", text);
  }

  /** The sum of the samples of all nodes whose lines begin so. */
  private static double metric(String start) {
    try {
      double sum = 0;
      for (Node node : NODES) {
        sum += TestNodes.manage(node, "/metrics").body().lines()
            .filter(line -> line.startsWith(start))
            .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
            .sum();
      }
      return sum;
    } catch (Exception failed) {
      throw new AssertionError(failed);
    }
  }
}
