package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.node.Node;
import io.kvasir.enginemodel.StepTime;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** An engine that stands still while its server answers, and that is given nothing more: what waits there. */
final class HungEngineIT {
  private static final String MODEL = "kvasir-demo";
  private static final int REQUESTS = 8;
  private static final StepTime TWENTY_MILLIS = new StepTime(20, 1e9, 0, 0, 0, 0, 0, 0);
  private static final ObjectMapper JSON = new ObjectMapper();

  private final List<SimEngine> engines = new ArrayList<>();
  private Node node;

  @AfterEach
  void stop() {
    node.close();
    engines.forEach(SimEngine::close);
  }

  @Test
  void whatWaitsThere_isAnsweredByAnother_streamsGoOn() throws Exception {
    SimEngine quick = engine(0);
    SimEngine hung = engine(1);
    SimEngine other = engine(1);
    start(hung, other);
    List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
    for (int i = 0; i < REQUESTS; i++) {
      answers.add(TestNodes.postAsync(node, "/v1/chat/completions", chat(i)));
    }
    await("all run", () -> hung.stats().running() + other.stats().running() == REQUESTS);
    awaitMovingReports(hung.stats().running());

    hung.setCondition(EngineCondition.WEDGE, true);
    int there = hung.stats().running();
    assertThat(there).isPositive();

    for (int i = 0; i < REQUESTS; i++) {
      String expected =
          text(TestNodes.postAsync(quick.url().resolve("/v1/chat/completions"), chat(i)).get().body());
      assertThat(text(answers.get(i).get().body())).as("request %d", i).isEqualTo(expected);
    }
    assertThat(metric("kvasir_retries_total{why=\"stranded\"}") + metric("kvasir_resumes_total{result=\"resumed\"}"))
        .isGreaterThanOrEqualTo(there);

    assertThat(health("hung")).isEqualTo("wedged");
    hung.setCondition(EngineCondition.WEDGE, false);
    await("requests go there again, though none was tried there", () -> health("hung").equals("healthy"));
  }

  private String health(String worker) throws Exception {
    for (JsonNode each : JSON.readTree(TestNodes.manage(node, "/admin/workers").body()).path("workers")) {
      if (each.path("id").asText().equals(worker)) {
        return each.path("health").asText();
      }
    }
    return "no worker";
  }

  /** The engine's reports have changed as it generated. */
  private void awaitMovingReports(int running) {
    Set<Double> seen = new HashSet<>();
    await("reports that move", () -> {
      JsonNode workers = JSON.readTree(TestNodes.manage(node, "/admin/workers").body()).path("workers");
      for (JsonNode worker : workers) {
        JsonNode reports = worker.path("engine_reports");
        if (worker.path("id").asText().equals("hung") && reports.path("running").asInt() == running) {
          seen.add(reports.path("kv_use").asDouble());
        }
      }
      return seen.size() > 1;
    });
  }

  private double metric(String sample) throws Exception {
    return TestNodes.manage(node, "/metrics").body().lines()
        .filter(line -> line.startsWith(sample))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  /** Every other is a stream; each takes some seconds. */
  private static String chat(int number) {
    return
        """
        {"model": "%s", "max_tokens": 500, "ignore_eos": true, "temperature": 0, "stream": %b,
         "messages": [{"role": "user", "content": "%s"}]}
        """.formatted(MODEL, number % 2 == 0, EndToEndIT.words(number, 40));
  }

  private static String text(String answer) throws Exception {
    if (!answer.startsWith("data:")) {
      return JSON.readTree(answer).at("/choices/0/message/content").asText();
    }
    assertThat(answer).endsWith("data: [DONE]\n\n");
    StringBuilder text = new StringBuilder();
    for (String line : answer.lines().filter(each -> each.startsWith("data: {")).toList()) {
      text.append(JSON.readTree(line.substring(6)).at("/choices/0/delta/content").asText());
    }
    return text.toString();
  }

  private SimEngine engine(double speed) throws Exception {
    SimEngine engine =
        SimEngine.start(
            SimSettings.builder()
                .host("127.0.0.1").port(0).model(MODEL).speed(speed).stepTime(TWENTY_MILLIS)
                .events(EventSettings.DEFAULT.withLoopback())
                .build());
    engines.add(engine);
    return engine;
  }

  private void start(SimEngine hung, SimEngine other) throws Exception {
    node =
        TestNodes.start(
            """
            kvasir {
              models = [{ name = %s, directory = "bundled:kvasir-demo" }]
              pods = [{ name = hung, url = "%s" }, { name = other, url = "%s" }]
              cell.health.reports { interval = 100 ms, stale = 2 s }
              cell.health.wedge { silence = 2 s, standstill = 3 s }
              execution.stranded-timeout = 1 s
            }
            """.formatted(MODEL, hung.url(), other.url()));
    await("a node that serves", () -> TestNodes.serves(node, 2));
  }
}
