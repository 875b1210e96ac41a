package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.EndToEndIT.words;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.node.Node;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A node that knows the programs of its requests, by their headers and by their prompts. */
final class ProgramsIT {
  private static final String MODEL = "kvasir-demo";

  private SimEngine engine;

  private Node node;

  private void start(String settings) throws Exception {
    engine = PredictionsIT.engine(EventSettings.DEFAULT.withLoopback(), 0);
    node =
        TestNodes.start(
            """
            kvasir {
              models = [{ name = %1$s, directory = "bundled:kvasir-demo", block-size = 16 }]
              pods = [{
                name = sim, url = "%2$s", models = [%1$s], events { endpoint = "%3$s", replay = "%4$s" }
              }]
              programs { enabled = true, worker-tokens = 5000 }
              %5$s
            }
            """.formatted(MODEL, engine.url(), engine.eventsEndpoint(), engine.replayEndpoint(), settings));
    await(() -> DemoCommand.healthy(node) == 1);
  }

  @AfterEach
  void stop() {
    node.close();
    engine.close();
  }

  @Test
  void turns_areCountedByProgram() throws Exception {
    start("");
    String talk = words(1, 400);
    chat(talk, "X-Session-ID", "one");
    chat(talk + words(2, 100), "X-Session-ID", "one");
    chat(words(3, 900));
    chat(words(3, 900) + words(4, 300));

    await(() -> metric("kvasir_program_gap_seconds_count") == 2);
    assertThat(metric("kvasir_programs{")).isEqualTo(2);
    assertThat(metric("kvasir_programs_live{")).isEqualTo(2);
    assertThat(metric("kvasir_programs_live_tokens{")).isGreaterThan(1_500);
    assertThat(metric("kvasir_programs_capacity_tokens{")).isEqualTo(5_000);
    assertThat(metric("kvasir_program_held_tokens_total")).isGreaterThan(1_500);
  }

  /** While a program fills the memory a new one waits; turns of the first do not, and its end makes room. */
  @Test
  void guarded_aNewProgram_waitsForRoom() throws Exception {
    start("programs.guard { enabled = true, admit-below = 0.2 }, admission.enabled = true");
    String talk = words(1, 900);
    for (int turn = 0; turn < 8; turn++) {
      chat(talk, "X-Session-ID", "first");
    }
    CompletableFuture<HttpResponse<String>> second =
        TestNodes.postAsync(node, "/v1/chat/completions", body(words(2, 900)), "X-Session-ID", "second");
    await(() -> metric("kvasir_programs_waiting{") == 1);
    chat(talk, "X-Session-ID", "first");
    assertThat(second).isNotDone();

    chat(talk, "X-Session-ID", "first", "X-Dynamo-Session-Final", "true");

    assertThat(second.join().statusCode()).isEqualTo(200);
    assertThat(TestNodes.header(second.join(), "X-Router-Reason")).contains("waited=");
    assertThat(metric("kvasir_program_changes_total{change=\"held\"}")).isEqualTo(1);
  }

  private static String body(String text) {
    return """
        {"model": "%s", "max_tokens": 3, "messages": [{"role": "user", "content": "%s"}]}
        """.formatted(MODEL, text);
  }

  private void chat(String text, String... headers) throws Exception {
    HttpResponse<String> answer =
        TestNodes.post(
            node, "/v1/chat/completions",
            body(text),
            headers);
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
  }

  /** The value of the only sample whose line begins so. */
  private double metric(String start) {
    try {
      return TestNodes.manage(node, "/metrics").body().lines()
          .filter(line -> line.startsWith(start))
          .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
          .sum();
    } catch (Exception failed) {
      throw new AssertionError(failed);
    }
  }
}
