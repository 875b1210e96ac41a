package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.EndToEndIT.words;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.node.Node;
import io.kvasir.gateway.admin.AdminDocument;
import io.kvasir.scale.keda.KedaClient;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A node that says how many workers its model needs: to operators, to Prometheus and to KEDA. */
final class ScaleIT {
  private static final String MODEL = "kvasir-demo";
  private static final String METRIC = "kvasir-desired-workers";

  private static final String QUESTION =
      """
      {"model": "kvasir-demo", "max_tokens": 5, "messages": [{"role": "user", "content": "Are you there?"}]}
      """;

  private SimEngine engine;
  private Node node;

  @BeforeEach
  void start() throws Exception {
    engine = PredictionsIT.engine(EventSettings.DEFAULT.withLoopback(), 0);
    startNode("");
  }

  private void startNode(String settings) throws Exception {
    node =
        TestNodes.start(
            """
            kvasir {
              models = [{ name = %1$s, directory = "bundled:kvasir-demo", block-size = 16 }]
              pods = [{
                name = sim, url = "%2$s", models = [%1$s], events { endpoint = "%3$s", replay = "%4$s" }
              }]
              scale { interval = 200 ms, settle = 1 s, least = 2, keda { enabled = on, host = "127.0.0.1", port = 0 } }
            }
            %5$s
            """.formatted(MODEL, engine.url(), engine.eventsEndpoint(), engine.replayEndpoint(), settings));
    await(() -> DemoCommand.healthy(node) == 1);
  }

  @AfterEach
  void stop() {
    node.close();
    engine.close();
  }

  @Test
  void advice_isTheSameForEverybody() throws Exception {
    await("the worker is known and ready", () -> target().path("ready").asInt() == 1);
    assertThat(target().path("desired").asInt()).as("the fewest").isEqualTo(2);
    assertThat(target().path("role").asText()).isEqualTo("both");
    AdminDocument.assertDescribed("GET /admin/scale", 200, scale());
    assertThat(TestNodes.manage(node, "/metrics").body())
        .contains("kvasir_scale_desired_workers{model=\"kvasir-demo\",role=\"both\"} 2.0");

    int port = Objects.requireNonNull(node.scaler()).port();
    ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build();
    try {
      KedaClient keda = new KedaClient(channel);
      assertThat(keda.metric(Map.of("model", MODEL), METRIC)).isEqualTo(METRIC + "/2/2.0");
      await("it has been idle for as long as fewer have to do", () -> !keda.isActive(Map.of("model", MODEL)));
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  void requests_areMeasured() throws Exception {
    await(() -> target().path("ready").asInt() == 1);
    int status =
        TestNodes.post(
            node, "/v1/chat/completions",
            """
            {"model": "%s", "max_tokens": 5, "messages": [{"role": "user", "content": "%s"}]}
            """.formatted(MODEL, words(1, 400)))
            .statusCode();
    assertThat(status).isEqualTo(200);
    await("its tokens are counted", () -> target().path("tokens_per_s").asDouble() > 0);
  }

  @Test
  void whoWaitsInTheRouter_orIsRefused_countsAsDemand() throws Exception {
    node.close();
    startNode(
        """
        kvasir.admission {
          enabled = true, classes {
            default { max-waiting = 6, max-waiting-per-tenant = 6, longest-wait = 10 m }
            bulk { longest-wait = 1 s, starvation = 1 s }
          }
        }
        kvasir.pod-defaults.max-in-flight = 1
        """);
    await(() -> target().path("ready").asInt() == 1);
    List<CompletableFuture<HttpResponse<String>>> requests = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      requests.add(
          TestNodes.postAsync(
              node, "/v1/chat/completions",
              """
              {"model": "%s", "max_tokens": 100000, "ignore_eos": true,
                "messages": [{"role": "user", "content": "%s"}]}
              """.formatted(MODEL, words(i, 200))));
    }
    await("one goes, six wait, and those of too many of one tenant are refused for its own doing", () ->
        target().path("backlog_requests").asInt() == 6);
    assertThat(target().path("refused_per_s").asDouble()).isZero();
    await("they need more than the fewest", () -> target().path("desired").asInt() > 2);
    assertThat(target().path("in_flight").asInt()).isEqualTo(1);
    assertThat(target().path("backlog_owed_s").asDouble()).isPositive();
    assertThat(TestNodes.manage(node, "/metrics").body())
        .contains("kvasir_scale_backlog_requests{model=\"kvasir-demo\",role=\"both\"} 6.0");
    requests.add(
        TestNodes.postAsync(node, "/v1/chat/completions", QUESTION, "X-Router-Class", "bulk"));
    await("who has waited for too long is refused for what the fleet lacks", () ->
        target().path("refused_per_s").asDouble() > 0);
    requests.forEach(request -> request.cancel(true));
  }

  /** KEDA is told over its stream, and starts the engine; the request that woke it is answered. */
  @Test
  void requestForAModelWithoutWorkers_waitsForTheOneThatItOrders() throws Exception {
    node.close();
    node =
        TestNodes.start(
            """
            kvasir {
              models = [{ name = %1$s, directory = "bundled:kvasir-demo", block-size = 16 }]
              scale {
                interval = 200 ms, settle = 1 s, models = [{ name = %1$s, least = 0 }], from-zero.most-waiting = 1
                keda { enabled = on, host = "127.0.0.1", port = 0 }
              }
            }
            """.formatted(MODEL));
    await("the model is a target without workers", () -> target().path("model").asText().equals(MODEL));
    assertThat(target().path("desired").asInt()).isZero();
    int port = Objects.requireNonNull(node.scaler()).port();
    ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build();
    try {
      KedaClient keda = new KedaClient(channel);
      Iterator<Boolean> activity = keda.activity(Map.of("model", MODEL));
      assertThat(activity.next()).isFalse();
      CompletableFuture<HttpResponse<String>> first =
          TestNodes.postAsync(node, "/v1/chat/completions", QUESTION);
      assertThat(activity.next()).as("it waits").isTrue();
      assertThat(keda.metric(Map.of("model", MODEL), METRIC)).isEqualTo(METRIC + "/1/1.0");
      HttpResponse<String> second = TestNodes.post(node, "/v1/chat/completions", QUESTION);
      assertThat(second.statusCode()).as("no more than so many wait").isEqualTo(503);
      assertThat(second.headers().firstValue("retry-after")).isPresent();
      assertThat(first).isNotDone();

      assertThat(
          TestNodes.manage(
              node, "POST", "/admin/workers",
              """
              {"name": "sim", "url": "%s", "models": ["%s"]}
              """.formatted(engine.url(), MODEL))
              .statusCode())
          .isEqualTo(201);
      assertThat(first.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
      await("nobody waits", () -> target().path("backlog_requests").asInt() == 0);
    } finally {
      channel.shutdownNow();
    }
  }

  private JsonNode scale() throws Exception {
    return new ObjectMapper().readTree(TestNodes.manage(node, "/admin/scale").body());
  }

  private JsonNode target() throws Exception {
    return scale().path("targets").path(0);
  }
}
