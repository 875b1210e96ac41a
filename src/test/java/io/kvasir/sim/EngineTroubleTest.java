package io.kvasir.sim;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.enginemodel.StepTime;
import io.kvasir.routing.Role;
import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.InjectedFault;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.ConnectException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Clients who leave, and engines that fail on purpose. */
final class EngineTroubleTest extends EngineTest {
  /** A step takes 20 ms, whatever is in it. */
  private static final StepTime SLOW = new StepTime(20, 1e9, 0, 0, 0, 0, 0, 0);

  @Test
  void clientWhoLeaves_beforeTheFirstByte_frees() throws Exception {
    SimEngine engine = start(settings().speed(1).stepTime(SLOW));
    try (Socket client = connect(engine)) {
      send(client, "/v1/completions", text().put("max_tokens", 5000).put("ignore_eos", true).toString(), "");
      await("the request runs", () -> engine.stats().running() == 1);
    }
    await("it is gone", () -> engine.stats().running() == 0 && engine.stats().waiting() == 0);
    await("its blocks are free", () -> usedBlocks(engine).equals("0.0"));
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
    await("it is gone", () -> engine.stats().running() == 0);
    await("its blocks are free", () -> usedBlocks(engine).equals("0.0"));
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
      client.setSoTimeout(60_000);
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
    SimEngine engine = start(settings().faults(List.of(InjectedFault.parse("500=1x"), InjectedFault.parse("503=1x"))));
    engine.stats();

    assertThat(post(engine, "/v1/completions", text().toString()).statusCode()).isEqualTo(500);
    assertThat(post(engine, "/v1/completions", text().toString()).statusCode()).isEqualTo(503);
    assertThat(post(engine, "/v1/completions", text().toString()).statusCode()).isEqualTo(200);
    engine.setFaults(List.of(InjectedFault.parse("429=1.0")));
    HttpResponse<String> limited = post(engine, "/v1/completions", text().toString());
    assertThat(limited.statusCode()).isEqualTo(429);
    assertThat(JSON.readTree(limited.body()).at("/error/code").asInt()).isEqualTo(429);
    assertThat(get(engine, "/health").statusCode()).as("health is not work").isEqualTo(200);
  }

  @Test
  void faults_byShare_hitAboutThatMany() throws Exception {
    SimEngine engine = start(settings().seed(3).faults(List.of(InjectedFault.parse("500=0.3"))));

    long failed = 0;
    for (int i = 0; i < 100; i++) {
      failed += post(engine, "/v1/completions", text().put("max_tokens", 1).toString()).statusCode() == 500 ? 1 : 0;
    }

    assertThat(failed).isBetween(15L, 45L);
  }

  @Test
  void fault_hang_answersNothing() throws Exception {
    SimEngine engine = start(settings().faults(List.of(InjectedFault.parse("hang=1.0"))));

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
    SimEngine engine = start(settings().speed(1).stepTime(SLOW).faults(List.of(InjectedFault.parse("cut=1.0"))));
    ObjectNode request = text().put("max_tokens", 50).put("ignore_eos", true);

    assertThatThrownBy(() -> post(engine, "/v1/completions", request.put("stream", true).toString()))
        .isInstanceOf(IOException.class);
    assertThatThrownBy(() -> post(engine, "/v1/completions", request.put("stream", false).toString()))
        .isInstanceOf(IOException.class);
    await("nothing is left of them", () -> engine.stats().running() == 0);
  }

  @Test
  void fault_streamError_arrivesWithStatus200() throws Exception {
    SimEngine engine = start(settings().faults(List.of(InjectedFault.parse("stream-error=1.0"))));
    ObjectNode request = text().put("max_tokens", 50).put("ignore_eos", true);

    HttpResponse<String> streamed = post(engine, "/v1/completions", request.put("stream", true).toString());
    HttpResponse<String> whole = post(engine, "/v1/completions", request.put("stream", false).toString());

    assertThat(streamed.statusCode()).isEqualTo(200);
    assertThat(events(streamed.body()).getLast().at("/error/code").asInt()).isEqualTo(500);
    assertThat(streamed.body()).endsWith("data: [DONE]\n\n");
    assertThat(whole.statusCode()).isEqualTo(500);
  }

  @Test
  void fault_reset_breaksBeforeAnyAnswer() throws Exception {
    SimEngine engine = start(settings().faults(List.of(InjectedFault.parse("reset=1.0"))));

    assertThatThrownBy(() -> post(engine, "/v1/completions", text().toString())).isInstanceOf(IOException.class);
  }

  @Test
  void fault_hangAfterHead_saysNothingMore() throws Exception {
    SimEngine engine = start(settings().faults(List.of(InjectedFault.parse("hang-after-head=1.0"))));
    try (Socket client = connect(engine)) {
      client.setSoTimeout(300);
      send(client, "/v1/completions", text().put("stream", true).toString(), "");
      BufferedReader in = reader(client);
      assertThat(in.readLine()).isEqualTo("HTTP/1.1 200 OK");
      assertThatThrownBy(() -> in.lines().toList()).hasRootCauseInstanceOf(SocketTimeoutException.class);
    }
    await("nothing is left of it", () -> engine.stats().running() == 0);
  }

  @Test
  void fault_hangMidway_fallsSilent() throws Exception {
    SimEngine engine = start(settings().faults(List.of(InjectedFault.parse("hang-midway=1.0"))));
    try (Socket client = connect(engine)) {
      client.setSoTimeout(300);
      send(
          client, "/v1/completions",
          text().put("max_tokens", 50).put("ignore_eos", true).put("stream", true).toString(), "");
      List<String> heard = new ArrayList<>();
      assertThatThrownBy(() -> reader(client).lines().forEach(heard::add))
          .hasRootCauseInstanceOf(SocketTimeoutException.class);
      assertThat(heard).anyMatch(line -> line.startsWith("data: ")).noneMatch(line -> line.contains("[DONE]"));
    }
  }

  @Test
  void fault_noEnd_leavesOutTheTerminator() throws Exception {
    SimEngine engine = start(settings().faults(List.of(InjectedFault.parse("no-end=1.0"))));

    HttpResponse<String> streamed =
        post(engine, "/v1/completions", text().put("max_tokens", 5).put("stream", true).toString());

    assertThat(events(streamed.body())).isNotEmpty();
    assertThat(streamed.body()).doesNotContain("[DONE]");
  }

  @Test
  void fault_slow_comesLateAndWhole() throws Exception {
    SimEngine engine = start(settings().faults(List.of(InjectedFault.parse("slow=1x"))));

    HttpResponse<String> answer = post(engine, "/v1/completions", text().put("max_tokens", 5).toString());

    assertThat(answer.statusCode()).isEqualTo(200);
  }

  @Test
  void condition_wedge_takesAndStandsStill() throws Exception {
    SimEngine engine = start(settings());
    engine.setCondition(EngineCondition.WEDGE, true);
    CompletableFuture<HttpResponse<String>> answer =
        CLIENT.sendAsync(
            request(engine, "/v1/completions", text().toString()), HttpResponse.BodyHandlers.ofString());
    await("it waits", () -> engine.stats().waiting() == 1);
    assertThat(get(engine, "/health").statusCode()).isEqualTo(200);
    assertThat(get(engine, "/metrics").body())
        .contains("vllm:num_requests_waiting{engine=\"0\",model_name=\"kvasir-demo\"} 1.0");

    engine.setCondition(EngineCondition.WEDGE, false);

    assertThat(answer.get().statusCode()).isEqualTo(200);
  }

  @Test
  void condition_drain_finishesAndRefuses() throws Exception {
    SimEngine engine = start(settings().speed(1).stepTime(SLOW));
    CompletableFuture<HttpResponse<String>> answer =
        CLIENT.sendAsync(
            request(engine, "/v1/completions", text().put("max_tokens", 20).put("ignore_eos", true).toString()),
            HttpResponse.BodyHandlers.ofString());
    await("it runs", () -> engine.stats().running() == 1);
    engine.setCondition(EngineCondition.DRAIN, true);

    assertThat(post(engine, "/v1/completions", text().toString()).statusCode()).isEqualTo(503);
    assertThat(get(engine, "/health").statusCode()).isEqualTo(503);
    assertThat(answer.get().statusCode()).isEqualTo(200);
  }

  @Test
  void condition_refuse_isTakenBack() throws Exception {
    SimEngine engine = start(settings());
    engine.setCondition(EngineCondition.REFUSE, true);
    assertThatThrownBy(() -> connect(engine).close()).isInstanceOf(ConnectException.class);

    engine.setCondition(EngineCondition.REFUSE, false);

    connect(engine).close();
    assertThat(engine.conditions()).isEmpty();
  }

  @Test
  void restart_comesBackWellAndEmptyOnTheSamePorts() throws Exception {
    SimEngine engine =
        start(settings().role(Role.PREFILL).transfer(TransferSettings.of(TransferDialect.VLLM_NIXL)));
    post(engine, "/v1/completions", text().toString());
    engine.setCondition(EngineCondition.SLOW, true);
    String before = engine.url() + " " + engine.eventsEndpoint() + " " + engine.transferPort();
    String id = engine.engineId(0);

    engine.crash();
    assertThatThrownBy(() -> connect(engine).close()).isInstanceOf(ConnectException.class);
    engine.restart();

    assertThat(engine.url() + " " + engine.eventsEndpoint() + " " + engine.transferPort()).isEqualTo(before);
    assertThat(engine.engineId(0)).isNotEqualTo(id);
    assertThat(engine.conditions()).isEmpty();
    HttpResponse<String> cold = post(engine, "/v1/completions", text().toString());
    assertThat(JSON.readTree(cold.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt()).isZero();
  }

  @Test
  void controls_changeARunningEngine() throws Exception {
    SimEngine engine = start(settings());

    JsonNode state = ask(engine, "/sim/conditions", "{\"drain\":true,\"wedge\":true}");
    assertThat(state.path("conditions").toString()).isEqualTo("[\"wedge\",\"drain\"]");
    ask(engine, "/sim/conditions", "{\"drain\":false,\"wedge\":false}");
    ask(engine, "/sim/faults", "{\"faults\":[\"429=1x\"]}");
    assertThat(post(engine, "/v1/completions", text().toString()).statusCode()).isEqualTo(429);
    assertThat(post(engine, "/sim/faults", "{\"faults\":[\"nonsense\"]}").statusCode()).isEqualTo(400);
    int queried = ask(engine, "/v1/completions", text().toString()).at("/usage/prompt_tokens").asInt();
    assertThat(JSON.readTree(get(engine, "/sim").body()).at("/stats/queriedTokens").asInt()).isEqualTo(queried);

    ask(engine, "/sim/crash", "{\"ms\":1}");

    await("it has started again", () -> engine.stats().queriedTokens() == 0);
    await("it answers", () -> answers(engine));
  }

  /** The end of the slow steps comes after the first end of the other would have come. */
  @Test
  void conditionThatIsSetAnew_lastsUntilItsNewEnd() throws Exception {
    SimEngine engine = start(settings());
    ask(engine, "/sim/conditions", "{\"wedge\":true,\"ms\":100}");
    ask(engine, "/sim/conditions", "{\"wedge\":true,\"ms\":600000}");
    ask(engine, "/sim/conditions", "{\"slow\":true,\"ms\":150}");

    await("the later end", () -> !engine.conditions().contains(EngineCondition.SLOW));
    assertThat(engine.conditions()).containsExactly(EngineCondition.WEDGE);
  }

  @Test
  void faultsThatAreSetAnew_lastUntilTheirNewEnd() throws Exception {
    SimEngine engine = start(settings());
    ask(engine, "/sim/faults", "{\"faults\":[\"500=1\"],\"ms\":100}");
    ask(engine, "/sim/faults", "{\"faults\":[\"503=1\"]}");
    ask(engine, "/sim/conditions", "{\"slow\":true,\"ms\":150}");

    await("the later end", () -> !engine.conditions().contains(EngineCondition.SLOW));
    assertThat(post(engine, "/v1/completions", text().toString()).statusCode()).isEqualTo(503);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
    "/sim/conditions | {\"wedge\":true,\"wedged\":true}", "/sim/conditions | {\"slow\":true,\"ms\":-1}",
    "/sim/conditions | {\"wedge\":true,\"slow\":1}", "/sim/faults | {\"faults\":[],\"seconds\":1}",
    "/sim/crash | {\"after\":1}"
  })
  void controlsThatAreNone_changeNothing(String path, String body) throws Exception {
    SimEngine engine = start(settings());

    assertThat(post(engine, path, body).statusCode()).isEqualTo(400);
    assertThat(engine.conditions()).isEmpty();
  }

  private static boolean answers(SimEngine engine) {
    try {
      return post(engine, "/v1/completions", text().toString()).statusCode() == 200;
    } catch (IOException e) {
      return false;
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
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
      await("the request runs", () -> engine.stats().running() == 1);

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
          ("POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
              + "transfer-encoding: chunked\r\n\r\n"
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
      client.setSoTimeout(60_000);
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
        "POST " + path + " HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n" + headers
            + "content-length: " + bytes.length + "\r\n\r\n";
    client.getOutputStream().write((head + body).getBytes(StandardCharsets.UTF_8));
  }

  private static String usedBlocks(SimEngine engine) throws Exception {
    return get(engine, "/metrics").body().lines()
        .filter(line -> line.startsWith("vllm:kv_cache_usage_perc"))
        .map(line -> line.substring(line.lastIndexOf(' ') + 1))
        .findFirst().orElse("");
  }

  private static ObjectNode text() {
    return JSON.createObjectNode().put("model", "kvasir-demo").put("prompt", "The quick brown fox of the story");
  }
}
