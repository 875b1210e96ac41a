package io.kvasir.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.engine.StepTime;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Clients who leave, and engines that fail on purpose. */
final class EngineTroubleTest extends EngineTest {
  /** A step takes 20 ms, whatever is in it. */
  private static final StepTime SLOW = new StepTime(20, 1e9, 0, 0, 0, 0, 0, 0);

  @Test
  void clientWhoLeaves_beforeTheFirstByte_frees() throws Exception {
    SimEngine engine = start(settings().speed(1).stepTime(SLOW));
    try (Socket client = connect(engine)) {
      send(client, "/v1/completions", text().put("max_tokens", 5000).put("ignore_eos", true).toString(), "");
      until("the request runs", () -> engine.stats().running() == 1);
    }
    until("it is gone", () -> engine.stats().running() == 0 && engine.stats().waiting() == 0);
    until("its blocks are free", () -> usedBlocks(engine).equals("0.0"));
  }

  @Test
  void clientWhoLeaves_withinTheStream_frees() throws Exception {
    SimEngine engine = start(settings().speed(1).stepTime(SLOW));
    try (Socket client = connect(engine)) {
      send(
          client, "/v1/completions",
          text().put("max_tokens", 5000).put("ignore_eos", true).put("stream", true).toString(), "");
      BufferedReader in = reader(client);
      String line = in.readLine();
      while (line != null && !line.startsWith("data: ")) {
        line = in.readLine();
      }
      assertThat(line).contains("text_completion");
    }
    until("it is gone", () -> engine.stats().running() == 0);
    until("its blocks are free", () -> usedBlocks(engine).equals("0.0"));
  }

  @Test
  void stream_ofSlowEngine_comesTokenByToken() throws Exception {
    SimEngine engine = start(settings().speed(1).stepTime(SLOW));
    ObjectNode request = text().put("max_tokens", 10).put("ignore_eos", true).put("stream", true);

    HttpResponse<String> response = post(engine, "/v1/completions", request.toString());

    assertThat(events(response.body())).hasSize(10);
  }

  @Test
  void stream_beforeItsFirstToken_hasItsHeadAlready() throws Exception {
    SimEngine engine = start(settings().speed(1).stepTime(new StepTime(60_000, 0, 0, 0, 0, 0, 0, 0)));
    try (Socket client = connect(engine)) {
      client.setSoTimeout(10_000);
      send(client, "/v1/completions", text().put("stream", true).toString(), "");
      assertThat(reader(client).readLine()).isEqualTo("HTTP/1.1 200 OK");
    }
  }

  @Test
  void answer_takesAtLeastItsSteps() throws Exception {
    SimEngine engine = start(settings().speed(2).stepTime(SLOW));
    long start = System.nanoTime();

    post(engine, "/v1/completions", text().put("max_tokens", 11).put("ignore_eos", true).toString());

    // 11 steps of 20 ms at double speed, the first up to a millisecond short
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(109));
  }

  @Test
  void faults_byCount_hitTheFirstRequests() throws Exception {
    SimEngine engine = start(settings().faults(List.of(Fault.parse("500=1x"), Fault.parse("503=1x"))));
    engine.stats();

    assertThat(post(engine, "/v1/completions", text().toString()).statusCode()).isEqualTo(500);
    assertThat(post(engine, "/v1/completions", text().toString()).statusCode()).isEqualTo(503);
    assertThat(post(engine, "/v1/completions", text().toString()).statusCode()).isEqualTo(200);
    engine.setFaults(List.of(Fault.parse("429=1.0")));
    HttpResponse<String> limited = post(engine, "/v1/completions", text().toString());
    assertThat(limited.statusCode()).isEqualTo(429);
    assertThat(JSON.readTree(limited.body()).at("/error/code").asInt()).isEqualTo(429);
    assertThat(get(engine, "/health").statusCode()).as("health is not work").isEqualTo(200);
  }

  @Test
  void faults_byShare_hitAboutThatMany() throws Exception {
    SimEngine engine = start(settings().seed(3).faults(List.of(Fault.parse("500=0.3"))));

    long failed = 0;
    for (int i = 0; i < 100; i++) {
      failed += post(engine, "/v1/completions", text().put("max_tokens", 1).toString()).statusCode() == 500 ? 1 : 0;
    }

    assertThat(failed).isBetween(15L, 45L);
  }

  @Test
  void fault_hang_answersNothing() throws Exception {
    SimEngine engine = start(settings().faults(List.of(Fault.parse("hang=1.0"))));

    assertThatThrownBy(() -> CLIENT.send(
            HttpRequest.newBuilder(engine.url().resolve("/v1/completions"))
                .timeout(Duration.ofMillis(300))
                .POST(HttpRequest.BodyPublishers.ofString(text().toString()))
                .build(),
            HttpResponse.BodyHandlers.ofString()))
        .isInstanceOf(HttpTimeoutException.class);
  }

  @Test
  void fault_cut_endsTheStreamWithoutItsEnd() throws Exception {
    SimEngine engine = start(settings().speed(1).stepTime(SLOW).faults(List.of(Fault.parse("cut=1.0"))));
    ObjectNode request = text().put("max_tokens", 50).put("ignore_eos", true);

    assertThatThrownBy(() -> post(engine, "/v1/completions", request.put("stream", true).toString()))
        .isInstanceOf(IOException.class);
    assertThatThrownBy(() -> post(engine, "/v1/completions", request.put("stream", false).toString()))
        .isInstanceOf(IOException.class);
    until("nothing is left of them", () -> engine.stats().running() == 0);
  }

  @Test
  void fault_streamError_arrivesWithStatus200() throws Exception {
    SimEngine engine = start(settings().faults(List.of(Fault.parse("stream-error=1.0"))));
    ObjectNode request = text().put("max_tokens", 50).put("ignore_eos", true);

    HttpResponse<String> streamed = post(engine, "/v1/completions", request.put("stream", true).toString());
    HttpResponse<String> whole = post(engine, "/v1/completions", request.put("stream", false).toString());

    assertThat(streamed.statusCode()).isEqualTo(200);
    assertThat(events(streamed.body()).getLast().at("/error/code").asInt()).isEqualTo(500);
    assertThat(streamed.body()).endsWith("data: [DONE]\n\n");
    assertThat(whole.statusCode()).isEqualTo(500);
  }

  @Test
  void health_whenSlow_stillAnswers() throws Exception {
    SimEngine engine = start(settings().healthDelay(Duration.ofMillis(150)));
    long start = System.nanoTime();

    assertThat(get(engine, "/health").statusCode()).isEqualTo(200);
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(150));
  }

  @Test
  void close_withinAnswers_dropsThem() throws Exception {
    SimEngine engine = start(settings().speed(1).stepTime(SLOW));
    try (Socket client = connect(engine)) {
      send(client, "/v1/completions", text().put("max_tokens", 5000).put("ignore_eos", true).toString(), "");
      until("the request runs", () -> engine.stats().running() == 1);

      engine.close();

      assertThat(reader(client).readLine()).isNull();
    }
  }

  @Test
  void connection_carriesManyRequests_alsoPipelinedAndChunked() throws Exception {
    SimEngine engine = start(settings());
    try (Socket client = connect(engine)) {
      BufferedReader in = reader(client);
      String one = text().put("max_tokens", 1).toString();
      send(client, "/v1/completions", one, "");
      send(client, "/v1/completions", one, "");
      assertThat(answer(in)).contains("text_completion");
      assertThat(answer(in)).contains("text_completion");
      byte[] body = one.getBytes(StandardCharsets.UTF_8);
      client.getOutputStream().write(
          ("POST /v1/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
              + Integer.toHexString(5) + "\r\n" + new String(body, 0, 5, StandardCharsets.UTF_8) + "\r\n"
              + Integer.toHexString(body.length - 5) + ";note\r\n"
              + new String(body, 5, body.length - 5, StandardCharsets.UTF_8) + "\r\n0\r\n\r\n")
              .getBytes(StandardCharsets.UTF_8));
      assertThat(answer(in)).contains("text_completion");
      send(client, "/v1/completions", one, "connection: close\r\n");
      assertThat(answer(in)).contains("text_completion");
      assertThat(in.readLine()).isNull();
    }
  }

  @Test
  void idleConnection_isClosed() throws Exception {
    SimEngine engine = start(settings().keepAlive(Duration.ofMillis(50)));
    try (Socket client = connect(engine)) {
      client.setSoTimeout(10_000);
      send(client, "/v1/completions", text().put("max_tokens", 1).toString(), "");
      BufferedReader in = reader(client);
      assertThat(answer(in)).contains("text_completion");
      assertThat(in.readLine()).isNull();
    }
  }

  @Test
  void nonsense_isRefused() throws Exception {
    SimEngine engine = start(settings());
    try (Socket client = connect(engine)) {
      client.getOutputStream().write("\u0001\u0002 nonsense\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1));
      assertThat(reader(client).readLine()).contains("400");
    }
  }

  private static String answer(BufferedReader in) throws IOException {
    int length = -1;
    for (String line = in.readLine(); line != null && !line.isEmpty(); line = in.readLine()) {
      if (line.startsWith("content-length: ")) {
        length = Integer.parseInt(line.substring("content-length: ".length()));
      }
    }
    char[] body = new char[length];
    IntStream.range(0, length).forEach(i -> body[i] = read(in));
    return new String(body);
  }

  private static char read(BufferedReader in) {
    try {
      return (char) in.read();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static Socket connect(SimEngine engine) throws IOException {
    return new Socket(engine.url().getHost(), engine.url().getPort());
  }

  private static BufferedReader reader(Socket client) throws IOException {
    return new BufferedReader(new InputStreamReader(client.getInputStream(), StandardCharsets.UTF_8));
  }

  private static void send(Socket client, String path, String body, String headers) throws IOException {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    String head =
        "POST " + path + " HTTP/1.1\r\nhost: x\r\n" + headers + "content-length: " + bytes.length + "\r\n\r\n";
    client.getOutputStream().write((head + body).getBytes(StandardCharsets.UTF_8));
  }

  private static String usedBlocks(SimEngine engine) {
    try {
      return get(engine, "/metrics").body().lines()
          .filter(line -> line.startsWith("vllm:kv_cache_usage_perc"))
          .map(line -> line.substring(line.lastIndexOf(' ') + 1))
          .findFirst().orElse("");
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static ObjectNode text() {
    return JSON.createObjectNode().put("model", "kvasir-demo").put("prompt", "The quick brown fox of the story");
  }
}
