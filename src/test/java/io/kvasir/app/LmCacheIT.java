package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.TestNodes.header;
import static io.kvasir.lmcache.ScriptedController.row;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.Node;
import io.kvasir.gateway.admin.AdminDocument;
import io.kvasir.lmcache.ScriptedController;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.lmcache.CacheCoordinator;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.HostTierSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A whole node whose profile goes by LMCache, two simulated engines, and a controller that comes and goes. */
final class LmCacheIT {
  private static final String MODEL = "kvasir-demo";
  private static final ObjectMapper JSON = new ObjectMapper();

  @Test
  void lookup_isFollowed_andWithoutItOccupancy_andWithoutThatPowerOfTwo_andBackAgain() throws Exception {
    try (ScriptedController controller = new ScriptedController();
        SimEngine first = engine();
        SimEngine second = engine();
        Node node = node(controller, first, second)) {
      controller.setWorkers(
          row("lm-0", 0, "10.0.0.1", 1000, 1000, 3),
          row("sim-1", 0, "10.0.0.2", 1000, 1000, 30),
          row("stranger", 0, "10.0.0.3", 1000, 1000, 1));
      controller.layout = "{\"lm-0\":[\"LocalCPUBackend\",512]}";

      await("a lookup decides", () -> reason(node).startsWith("lmcache-lookup; "));
      HttpResponse<String> followed = ask(node);
      assertThat(followed.statusCode()).isEqualTo(200);
      assertThat(header(followed, "X-Router-Backend")).isEqualTo("sim-0");
      assertThat(header(followed, "X-Router-Profile")).isEqualTo("lmcache-lookup");
      assertThat(header(followed, "X-Router-Reason")).contains("lmcache=512@host");
      assertThat(controller.lookups.getFirst()).startsWith("{\"tokens\":[");
      await("the instance is known", () -> lmcache(node).path("instances").size() == 3);
      assertThat(lmcache(node).path("instances").path(0).path("worker").asText()).isEqualTo("sim-0");
      await("misfits", () -> lmcache(node).path("problems").toString().contains("'stranger' belongs to no worker"));

      controller.gate = new CountDownLatch(1);
      await("late lookups leave it to occupancy", () -> reason(node).startsWith("lmcache-occupancy; "));
      assertThat(header(ask(node), "X-Router-Backend")).isEqualTo("sim-1");
      JsonNode dryRun = JSON.readTree(post(node, "/v1/route/v1/chat/completions").body());
      assertThat(dryRun.path("reason").asText()).startsWith("lmcache-occupancy; ");

      controller.stop();
      controller.gate.countDown();
      await("silence leaves it to power-of-two", () -> reason(node).startsWith("power-of-two; "));
      assertThat(get(node, "/ready")).contains("\"ready\":true", "the LMCache controller");
      assertThat(get(node, "/metrics"))
          .contains("kvasir_routing_left_total{profile=\"lmcache-lookup\",to=\"lmcache-occupancy\"}")
          .contains("kvasir_lmcache_unmapped_instances 1.0");

      controller.restart();
      await("lookups decide again", () -> reason(node).startsWith("lmcache-lookup; "));
    }
  }

  @Test
  void profileThatGoesByLmCache_withoutAController_isRefused() {
    assertThatThrownBy(() -> KvasirConfig.of(ConfigFactory.parseString("kvasir.routing.profile = lmcache-lookup")))
        .hasMessageContaining("kvasir.routing.profile")
        .hasMessageContaining("kvasir.lmcache.controller names no controller, nor coordinator a coordinator");
    assertThatCode(
            () ->
                KvasirConfig.of(
                    ConfigFactory.parseString(
                        "kvasir { routing.profile = lmcache-lookup, lmcache { coordinator = \"http://h:9300\","
                            + " world-size = 8, models { m = \"/models/m\" } } }")))
        .doesNotThrowAnyException();
    assertThatThrownBy(
            () ->
                KvasirConfig.of(
                    ConfigFactory.parseString(
                        "kvasir.lmcache { controller = nonsense, controller-timeout = 3 s, poll-interval = 10 s,"
                            + " stale-after = 5 s, wrkers = {} }")))
        .hasMessageContaining("kvasir.lmcache.controller")
        .hasMessageContaining("from 1 ms to 2 s")
        .hasMessageContaining("has to be longer than poll-interval")
        .hasMessageContaining("did you mean 'workers'?");
  }

  @Test
  void promptThatLiesFarAway_isFetchedBeforeItsWorkerIsAsked_andServedWithoutThat() throws Exception {
    try (ScriptedController controller = new ScriptedController();
        CacheCoordinator coordinator = CacheCoordinator.start("127.0.0.1", 0, Duration.ofSeconds(30));
        SimEngine first = member(coordinator, "lm-0");
        SimEngine second = member(coordinator, "sim-1");
        Node node =
            node(
                controller,
                first,
                second,
                """
                kvasir.lmcache {
                  coordinator = "%s"
                  stale-after = 1 h
                  prefetch { enabled = true, least-tokens = 256, least-saving = 0 s, budget = 2 s }
                }
                """
                    .formatted(coordinator.url()))) {
      await("the instances are known", () -> lmcache(node).path("coordinator").path("instances").size() == 2);
      controller.layout = "{\"lm-0\":[\"RemoteBackend\",8192]}";

      AtomicInteger prompts = new AtomicInteger();
      await("a prompt is fetched", () -> {
        // Another each time: what a worker was sent it is taken to hold on its device.
        String prompt = prompts.incrementAndGet() + " times. " + "Where was I? ".repeat(2000);
        assertThat(post(node, "/v1/chat/completions", prompt).statusCode()).isEqualTo(200);
        return get(node, "/metrics").contains("kvasir_lmcache_prefetches_total{result=\"completed\"}");
      });
      assertThat(get(node, "/ready")).doesNotContain("LMCache");

      stop(coordinator);
      await("silence is seen", () -> get(node, "/ready").contains("the LMCache coordinator"));
      assertThat(get(node, "/ready")).contains("\"ready\":true");
      assertThat(ask(node).statusCode()).isEqualTo(200);
    }
  }

  @Test
  void coordinatorThatCannotBeAsked_isRefused() {
    assertThatThrownBy(
            () ->
                KvasirConfig.of(
                    ConfigFactory.parseString(
                        "kvasir.lmcache { coordinator = \"http://h:9300\","
                            + " world-size = 0, models { m = \"\" }, prefetch { budget = 3 s, least-tokens = 0 } }")))
        .hasMessageContaining("kvasir.lmcache.world-size")
        .hasMessageContaining("kvasir.lmcache.models.m")
        .hasMessageContaining("kvasir.lmcache.prefetch.budget")
        .hasMessageContaining("kvasir.lmcache.prefetch.least-tokens");
    assertThatThrownBy(
            () -> KvasirConfig.of(ConfigFactory.parseString("kvasir.lmcache.prefetch.enabled = true")))
        .hasMessageContaining("name kvasir.lmcache.coordinator");
  }

  private static void stop(CacheCoordinator coordinator) {
    coordinator.close();
  }

  private static SimEngine member(CacheCoordinator coordinator, String instance) throws IOException {
    return SimEngine.start(
        SimSettings.builder().host("127.0.0.1").port(0).model(MODEL).speed(0).events(EventSettings.OFF)
            .hostTier(HostTierSettings.of(64).withCoordinator(coordinator.url(), instance, Duration.ofMillis(100)))
            .build());
  }

  private static SimEngine engine() throws IOException {
    return SimEngine.start(
        SimSettings.builder().host("127.0.0.1").port(0).model(MODEL).speed(0).events(EventSettings.OFF).build());
  }

  private static Node node(ScriptedController controller, SimEngine first, SimEngine second) throws Exception {
    return node(controller, first, second, "");
  }

  private static Node node(ScriptedController controller, SimEngine first, SimEngine second, String more)
      throws Exception {
    Node node =
        TestNodes.start(
            """
            kvasir {
              models = [{ name = %1$s, directory = "bundled:kvasir-demo", block-size = 16 }]
              pods = [
                { name = sim-0, url = "%2$s", models = [%1$s] }
                { name = sim-1, url = "%3$s", models = [%1$s] }
              ]
              routing.profile = lmcache-lookup
              lmcache {
                controller = "%4$s"
                workers { lm-0 = sim-0 }
                poll-interval = 200 ms
                stale-after = 3 s
                controller-timeout = 1 s
                remember = 1 ms
              }
            }
            %5$s
            """
                .formatted(MODEL, first.url(), second.url(), controller.address(), more));
    await("the workers are healthy", () -> DemoCommand.healthy(node) == 2);
    return node;
  }

  private static String reason(Node node) throws Exception {
    HttpResponse<String> answer = ask(node);
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return header(answer, "X-Router-Reason");
  }

  private static HttpResponse<String> ask(Node node) throws Exception {
    return post(node, "/v1/chat/completions");
  }

  private static HttpResponse<String> post(Node node, String path) throws Exception {
    return post(node, path, "Where was I? ".repeat(200));
  }

  private static HttpResponse<String> post(Node node, String path, String text) throws Exception {
    String body =
        """
        {"model":"%s","max_tokens":1,"messages":[{"role":"user","content":"%s"}]}"""
            .formatted(MODEL, text);
    return TestNodes.post(node, path, body);
  }

  private static JsonNode lmcache(Node node) throws Exception {
    JsonNode answer = JSON.readTree(get(node, "/admin/lmcache"));
    AdminDocument.assertDescribed("GET /admin/lmcache", 200, answer);
    return answer;
  }

  private static String get(Node node, String path) throws Exception {
    return TestNodes.manage(node, path).body();
  }
}
