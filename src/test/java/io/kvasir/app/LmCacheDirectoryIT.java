package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.EndToEndIT.words;
import static io.kvasir.app.TestNodes.header;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.node.Node;
import io.kvasir.load.Ports;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.lmcache.CacheCoordinator;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.HostTierSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A node that looks prompts up in the directory of LMCache's coordinator, and two engines whose devices have room for
 * one prompt, and their host memories for many.
 */
final class LmCacheDirectoryIT {
  private static final String MODEL = "kvasir-demo";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int DEVICE_BLOCKS = 160;
  private static final int WORDS = 1_000;

  private final List<SimEngine> engines = new ArrayList<>();
  private final int port = Ports.free();
  private CacheCoordinator coordinator;
  private Node node;
  private int fillers;

  @BeforeEach
  void start() throws Exception {
    coordinator = CacheCoordinator.start("127.0.0.1", port, Duration.ofSeconds(30));
    StringBuilder pods = new StringBuilder();
    for (int i = 0; i < 2; i++) {
      SimEngine engine = engine("lm-" + i);
      engines.add(engine);
      pods.append("{ name = sim-%d, url = \"%s\", models = [%s], events { endpoint = \"%s\", replay = \"%s\" } }\n"
          .formatted(i, engine.url(), MODEL, engine.eventsEndpoint(), engine.replayEndpoint()));
    }
    node = TestNodes.start(
        """
        kvasir {
          models = [{ name = %1$s, directory = "bundled:kvasir-demo", block-size = 16 }]
          pods = [ %2$s ]
          routing.profile = expected-cost-lmcache
          lmcache {
            coordinator = "%3$s"
            workers { lm-0 = sim-0, lm-1 = sim-1 }
            poll-interval = 200 ms
            stale-after = 1 h
            controller-timeout = 2 s
            remember = 1 ms
          }
        }
        """.formatted(MODEL, pods, coordinator.url()));
    await("the workers are healthy", () -> DemoCommand.healthy(node) == 2);
  }

  @AfterEach
  void stop() {
    node.close();
    engines.forEach(SimEngine::close);
    coordinator.close();
  }

  @Test
  void promptThatADeviceHasDropped_isFoundInItsHostsMemory_andTheEngineLoadsWhatWasPredicted() throws Exception {
    String prompt = words(1, WORDS);
    String holder = header(chat(prompt), "X-Router-Backend");
    dropFromDevice(prompt, holder);
    await("it is found", () -> isFound(prompt));

    HttpResponse<String> found = chat(prompt);

    assertThat(header(found, "X-Router-Backend")).isEqualTo(holder);
    int loaded = JSON.readTree(found.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt();
    assertThat(loaded).isGreaterThanOrEqualTo(768);
    assertThat(header(found, "X-Router-Reason"))
        .startsWith("expected-cost-lmcache; depth=0/")
        .contains("; cached=" + loaded + "/", "; lmcache=" + loaded + "@host");
  }

  /** A coordinator that was restarted knows nobody until they report again, and servers report nothing twice. */
  @Test
  void coordinatorThatGoesAndComesBack_isDoneWithout_andKnowsWhatIsStoredFromThenOn() throws Exception {
    String before = words(1, WORDS);
    dropFromDevice(before, header(chat(before), "X-Router-Backend"));
    await("it is found", () -> isFound(before));

    coordinator.close();
    await("nothing is known", () -> !isFound(before));
    assertThat(header(chat(words(2, WORDS)), "X-Router-Reason")).contains("; lmcache=unknown");
    await("silence is seen", () -> ready().contains("the LMCache coordinator"));
    assertThat(ready()).contains("\"ready\":true");

    await("it is back", this::restarted);
    await("it is queried", () -> !ready().contains("LMCache"));
    assertThat(isFound(before)).isFalse();
    String after = words(3, WORDS);
    String holder = header(chat(after), "X-Router-Backend");
    dropFromDevice(after, holder);
    await("it is found", () -> isFound(after));
    assertThat(header(chat(after), "X-Router-Backend")).isEqualTo(holder);
  }

  private String ready() throws Exception {
    return TestNodes.manage(node, "/ready").body();
  }

  private boolean restarted() {
    try {
      coordinator = CacheCoordinator.start("127.0.0.1", port, Duration.ofSeconds(30));
      return true;
    } catch (IOException taken) {
      return false;
    }
  }

  /** Sends its worker others, past the router, until the router knows that the prompt is dropped. */
  private void dropFromDevice(String prompt, String worker) throws Exception {
    URI engine = engines.get(worker.equals("sim-0") ? 0 : 1).url();
    await("the device drops it", () -> {
      fillers++;
      HttpRequest.Builder filler =
          HttpRequest.newBuilder(engine.resolve("/v1/chat/completions"))
              .header("content-type", "application/json")
              .POST(BodyPublishers.ofString(body(words(1_000 + fillers, WORDS))));
      assertThat(TestNodes.send(filler).statusCode()).isEqualTo(200);
      return reason(prompt).contains("; depth=0/");
    });
  }

  /** Whether it would be routed by what is held of it, though by no device. */
  private boolean isFound(String prompt) throws Exception {
    String reason = reason(prompt);
    return reason.contains("; depth=0/") && !reason.contains("; cached=0/");
  }

  /** How the prompt would be routed, and why. */
  private String reason(String prompt) throws Exception {
    HttpResponse<String> answer = TestNodes.post(node, "/v1/route/v1/chat/completions", body(prompt));
    return JSON.readTree(answer.body()).path("reason").asText();
  }

  private HttpResponse<String> chat(String prompt) throws Exception {
    HttpResponse<String> answer = TestNodes.post(node, "/v1/chat/completions", body(prompt));
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return answer;
  }

  private static String body(String prompt) {
    return """
        {"model":"%s","max_tokens":1,"messages":[{"role":"user","content":"%s"}]}""".formatted(MODEL, prompt);
  }

  private SimEngine engine(String instance) throws IOException {
    return SimEngine.start(
        SimSettings.builder().host("127.0.0.1").port(0).model(MODEL).speed(0).capacityBlocks(DEVICE_BLOCKS)
            .events(EventSettings.DEFAULT.withLoopback())
            .hostTier(HostTierSettings.of(8_192).withCoordinator(coordinator.url(), instance, Duration.ofMillis(100)))
            .build());
  }
}
