package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.EndToEndIT.words;
import static io.kvasir.app.TestNodes.header;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.node.Node;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.settings.CachedTokensUsage;
import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A node over real sockets that knows of engines only what it sent them: none tells of its cache, or not yet. */
final class PredictionsIT {
  private static final String MODEL = "kvasir-demo";
  private static final String TOKENISED =
      "[{ name = " + MODEL + ", directory = \"bundled:kvasir-demo\", block-size = 16 }]";
  private static final ObjectMapper JSON = new ObjectMapper();

  private final List<SimEngine> engines = new ArrayList<>();

  private Node node;

  @AfterEach
  void stop() {
    node.close();
    engines.forEach(SimEngine::close);
  }

  @Test
  void enginesWithoutEvents_samePrefix_sameWorker() throws Exception {
    start(EventSettings.OFF, TOKENISED);
    followsItsPrefix();
  }

  @Test
  void modelWithoutTokenizer_samePrefix_sameWorker() throws Exception {
    start(EventSettings.DEFAULT.withLoopback(), "[]");
    followsItsPrefix();
  }

  @Test
  void tensorRtOverZmq_isExactOfPlainPromptsAndPromisesNothingOfSalted() throws Exception {
    EventFormat format = new EventFormat(EventFormat.Encoding.TENSORRT_LLM, false, false);
    start(EventSettings.DEFAULT.withLoopback().withFormat(format), TOKENISED, ", plain-only = true");
    String system = words(7, 300);
    HttpResponse<String> cold = chat(system, "What is cached?").join();
    await(() -> node.fleet().workers().stream().anyMatch(worker -> worker.index().blocks() > 0));
    await(() -> node.fleet().workers().stream().allMatch(worker -> worker.index().predictedBlocks() == 0));
    HttpResponse<String> warm = chat(system, "And now?").join();
    assertThat(header(warm, "X-Router-Backend")).isEqualTo(header(cold, "X-Router-Backend"));
    int cached = JSON.readTree(warm.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt();
    assertThat(cached).isGreaterThan(300);
    assertThat(header(warm, "X-Router-Reason")).contains("cached=" + cached + "/").doesNotContain("predicted=");

    for (int i = 0; i < 3; i++) {
      String body = chatBody(system, "Again?").replace("{\"model\"", "{\"cache_salt\": \"s\", \"model\"");
      HttpResponse<String> salted = TestNodes.postAsync(node, "/v1/chat/completions", body).join();
      assertThat(salted.statusCode()).isEqualTo(200);
      assertThat(header(salted, "X-Router-Reason")).contains("cached=0/");
    }
  }

  /** Up to vLLM 0.23 and SGLang 0.5.21: such an answer is all there is to notice by that a whole index is wrong. */
  @Test
  void engineThatTellsOfNothingFoundByItsSilence_breaksItsPromises() throws Exception {
    SimEngine engine =
        SimEngine.start(
            settings(EventSettings.DEFAULT.withLoopback(), 0).cachedTokens(CachedTokensUsage.FOUND).build());
    engines.add(engine);
    start(TOKENISED, pod(engine, 0, ""));
    String system = words(7, 300);
    chat(system, "What is cached?").join();
    await(() -> index().blocks() > 0 && index().predictedBlocks() == 0);
    HttpResponse<String> warm = chat(system, "And now?").join();
    assertThat(JSON.readTree(warm.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt()).isPositive();
    await(() -> index().promises().kept() == 1);

    engine.setCondition(EngineCondition.FORGETFUL, true);
    HttpResponse<String> wrong = chat(system, "And now?").join();
    assertThat(header(wrong, "X-Router-Reason")).doesNotContain("cached=0/");
    assertThat(JSON.readTree(wrong.body()).at("/usage/prompt_tokens_details").isNull()).isTrue();
    await(() -> index().promises().broken() == 1);
  }

  private WorkerStatus.IndexState index() {
    return node.fleet().workers().getFirst().index();
  }

  private void followsItsPrefix() throws Exception {
    for (int session = 0; session < 6; session++) {
      String system = words(session, 300);
      HttpResponse<String> cold = chat(system, "What is cached?").join();
      assertThat(cold.statusCode()).isEqualTo(200);
      for (int turn = 0; turn < 3; turn++) {
        HttpResponse<String> warm = chat(system, "And now, in turn " + turn + "?").join();
        assertThat(header(warm, "X-Router-Backend")).isEqualTo(header(cold, "X-Router-Backend"));
        assertThat(header(warm, "X-Router-Reason")).contains("predicted=").doesNotContain("cached=0/");
        assertThat(JSON.readTree(warm.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt())
            .isGreaterThan(300);
      }
    }
    assertThat(node.fleet().workers()).allMatch(worker -> worker.index().trust() == 1);
  }

  @Test
  void burst_ofIdenticalColdPrompts_landsOnOneWorker() throws Exception {
    start(EventSettings.DEFAULT.withLoopback(), TOKENISED);
    // Answers are short here, which the router has to learn: else it would spread the decoding.
    for (int i = 0; i < 40; i++) {
      assertThat(chat("warm up", "question " + i).join().statusCode()).isEqualTo(200);
    }
    for (int round = 0; round < 5; round++) {
      String system = words(100 + round, 400);
      List<CompletableFuture<HttpResponse<String>>> burst = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        burst.add(chat(system, "What is cached?"));
      }
      Set<String> workers = new HashSet<>();
      for (CompletableFuture<HttpResponse<String>> one : burst) {
        assertThat(one.join().statusCode()).isEqualTo(200);
        workers.add(header(one.join(), "X-Router-Backend"));
      }
      assertThat(workers).hasSize(1);
    }
  }

  private void start(EventSettings events, String models) throws Exception {
    start(events, models, "");
  }

  private void start(EventSettings events, String models, String ofFeed) throws Exception {
    StringBuilder pods = new StringBuilder();
    for (int i = 0; i < 4; i++) {
      SimEngine engine = engine(events, i);
      engines.add(engine);
      pods.append(pod(engine, i, ofFeed));
    }
    start(models, pods.toString());
  }

  private static String pod(SimEngine engine, int number, String ofFeed) {
    String events =
        engine.eventsEndpoint() == null
            ? ""
            : "events { endpoint = \"%s\", replay = \"%s\"%s }"
                .formatted(engine.eventsEndpoint(), engine.replayEndpoint(), ofFeed);
    return "{ name = sim-%d, url = \"%s\", models = [%s], %s }\n".formatted(number, engine.url(), MODEL, events);
  }

  private void start(String models, String pods) throws Exception {
    node = TestNodes.start("kvasir { models = %s, pods = [ %s ] }".formatted(models, pods));
    await(() -> DemoCommand.healthy(node) == engines.size());
  }

  static SimEngine engine(EventSettings events, int number) throws IOException {
    return SimEngine.start(settings(events, number).build());
  }

  private static SimSettings.Builder settings(EventSettings events, int number) {
    return SimSettings.builder().host("127.0.0.1").port(0).model(MODEL).speed(20).seed(number).events(events);
  }

  private CompletableFuture<HttpResponse<String>> chat(String system, String question) {
    return TestNodes.postAsync(node, "/v1/chat/completions", chatBody(system, question));
  }

  private static String chatBody(String system, String question) {
    return TestNodes.chat(MODEL, 1, system, question);
  }
}
