package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.node.Node;
import io.kvasir.events.TestServer;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A whole node that keeps answers, a simulated engine behind it, and clients that write to sockets. */
final class AnswersIT {
  private static final String MODEL = "kvasir-demo";
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private Path directory = Path.of("");

  /** An answer as it came over the socket. */
  private record Heard(String head, String body) {
    String header(String name) {
      return head.lines()
          .filter(line -> line.regionMatches(true, 0, name + ":", 0, name.length() + 1))
          .map(line -> line.substring(name.length() + 1).strip())
          .findFirst()
          .orElse("");
    }
  }

  @Test
  void aThousandIdenticalRequestsAtOnce_areOneForTheEngine_streamedAndWhole() throws Exception {
    try (SimEngine engine = engine();
        Node node = node(engine, "store = memory, shared.enabled = true")) {
      for (boolean stream : List.of(true, false)) {
        long before = engine.stats().queriedTokens();
        List<Heard> answers = atOnce(node, 1000, body(stream));
        Set<String> bodies = new HashSet<>();
        int misses = 0;
        for (Heard answer : answers) {
          assertThat(answer.head()).startsWith("HTTP/1.1 200");
          bodies.add(answer.body());
          misses += answer.header("X-Router-Cache").equals("miss") ? 1 : 0;
        }
        assertThat(bodies).hasSize(1);
        String body = bodies.iterator().next();
        assertThat(body).contains(stream ? "[DONE]" : "finish_reason");
        assertThat(misses).isEqualTo(1);
        Heard again = ask(node, body(stream));
        assertThat(again.header("X-Router-Cache")).isEqualTo("hit");
        assertThat(again.body()).isEqualTo(body);
        long prompt = engine.stats().queriedTokens() - before;
        assertThat(prompt).as("prompt tokens the engine has read").isEqualTo(promptTokens(node));
      }
      JsonNode figures = JSON.readTree(admin(node, "GET", "/admin/cache", ""));
      assertThat(figures.path("misses").asInt()).isEqualTo(3);
      assertThat(figures.path("entries").asInt()).isEqualTo(3);
      assertThat(figures.path("hits").asInt() + figures.path("shared").asInt()).isEqualTo(2001);

      assertThat(admin(node, "POST", "/admin/cache/flush", "{\"model\":\"" + MODEL + "\"}"))
          .contains("\"forgotten\":3");
      assertThat(ask(node, body(false)).header("X-Router-Cache")).isEqualTo("miss");
    }
  }

  @Test
  void redisThatDies_costsNobodyAnything_andIsUsedAgain() throws Exception {
    try (TestServer redis = TestServer.redis(directory, false);
        SimEngine engine = engine();
        Node node =
            node(
                engine,
                "store = redis, redis { timeout = 2 s, url = \"redis://127.0.0.1:%d\" }".formatted(redis.port()))) {
      assertThat(ask(node, body(true)).header("X-Router-Cache")).isEqualTo("miss");
      Heard kept = awaitHit(node, body(true));
      redis.kill();
      for (int i = 0; i < 20; i++) {
        Heard past = ask(node, body(true));
        assertThat(past.head()).startsWith("HTTP/1.1 200");
        assertThat(past.header("X-Router-Cache")).isEqualTo("bypass");
        assertThat(past.header("X-Router-Cache-Reason")).isEqualTo("store_away");
      }
      assertThat(admin(node, "GET", "/ready", ""))
          .contains("\"ready\":true", "the response cache is bypassed, its store is away");
      redis.restart();
      assertThat(awaitHit(node, body(true)).body()).isEqualTo(kept.body());
      assertThat(admin(node, "GET", "/ready", "")).doesNotContain("response cache");
    }
  }

  private static SimEngine engine() throws IOException {
    return SimEngine.start(
        SimSettings.builder().host("127.0.0.1").port(0).model(MODEL).speed(1).events(EventSettings.OFF).build());
  }

  private static Node node(SimEngine engine, String answers) throws Exception {
    Node node =
        TestNodes.start(
            """
            kvasir {
              models = [{ name = %s, directory = "bundled:kvasir-demo", block-size = 16 }]
              pods = [{ name = sim, url = "%s", models = [%s] }]
              answers { %s }
            }
            """
                .formatted(MODEL, engine.url(), MODEL, answers));
    await("the worker is healthy", () -> DemoCommand.healthy(node) == 1);
    return node;
  }

  private static String body(boolean stream) {
    return """
        {"model": "%s", "max_tokens": 24, "temperature": 0, "stream": %s,
         "messages": [{"role": "user", "content": "What do a thousand people ask at once?"}]}
        """
        .formatted(MODEL, stream);
  }

  /** As the engine counts them, of a request that differs in its seed alone. */
  private static long promptTokens(Node node) throws Exception {
    Heard whole = ask(node, body(false).replace("}\n", ", \"seed\": 1}\n"));
    return JSON.readTree(whole.body()).at("/usage/prompt_tokens").asLong();
  }

  private static List<Heard> atOnce(Node node, int clients, String body) throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Callable<Heard> one = () -> ask(node, body);
      List<Future<Heard>> answers = new ArrayList<>();
      for (int i = 0; i < clients; i++) {
        answers.add(threads.submit(one));
      }
      List<Heard> heard = new ArrayList<>();
      for (Future<Heard> answer : answers) {
        heard.add(answer.get(PATIENCE.toSeconds(), TimeUnit.SECONDS));
      }
      return heard;
    }
  }

  /** As HTTP/1.0, so that the body comes as it is and ends with the connection. */
  private static Heard ask(Node node, String body) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), node.gateway().getPort())) {
      socket.setSoTimeout((int) PATIENCE.toMillis());
      byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
      String head =
          "POST /v1/chat/completions HTTP/1.0\r\nHost: router\r\nAuthorization: Bearer k\r\n"
              + "Content-Type: application/json\r\nContent-Length: " + bytes.length + "\r\n\r\n";
      socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
      socket.getOutputStream().write(bytes);
      String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      int end = answer.indexOf("\r\n\r\n");
      assertThat(end).as(answer).isPositive();
      return new Heard(answer.substring(0, end), answer.substring(end + 4));
    }
  }

  /** Asks until the answer comes from the cache: it is kept a moment after the client has it. */
  private static Heard awaitHit(Node node, String body) {
    AtomicReference<Heard> heard = new AtomicReference<>();
    await("a hit", () -> {
      Heard answer = ask(node, body);
      assertThat(answer.head()).startsWith("HTTP/1.1 200");
      heard.set(answer);
      return answer.header("X-Router-Cache").equals("hit");
    });
    return Objects.requireNonNull(heard.get());
  }

  private static String admin(Node node, String method, String path, String body) throws Exception {
    return TestNodes.manage(node, method, path, body).body();
  }
}
