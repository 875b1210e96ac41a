package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.typesafe.config.ConfigFactory;
import io.kvasir.gateway.admin.ExternalMetricsHandler;
import io.kvasir.gateway.admin.TestAdmin;
import io.kvasir.routing.ExternalMetrics;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.serialization.Serialization;
import org.apache.pekko.serialization.SerializationExtension;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Figures that are posted to one node and heard by all. */
final class ExternalMetricsBroadcastTest {
  private static ActorTestKit kit;

  private final ExternalMetrics figures = new ExternalMetrics();
  private final ExternalMetricsHandler handler =
      new ExternalMetricsHandler(
          figures,
          (name, byWorker) ->
              byWorker.forEach((worker, value) -> figures.report(name, worker, value, System.nanoTime())));

  @BeforeAll
  static void start() {
    kit = ActorTestKit.create(
        ConfigFactory.parseString("pekko.actor.provider = local")
            .withFallback(ConfigFactory.parseResources("platform.conf"))
            .withFallback(ConfigFactory.defaultReference())
            .resolve());
  }

  @AfterAll
  static void stop() {
    kit.shutdownTestKit();
  }

  @Test
  void post_areKeptAndShown() throws IOException {
    call("POST", "{\"price\":{\"w0\":1.5,\"w1\":2},\"heat\":{\"w0\":70}}", 202);

    JsonNode shown = call("GET", "", 200).get("figures");

    assertThat(shown).extracting(figure -> figure.get("metric").textValue()).containsExactly("heat", "price", "price");
    assertThat(shown.get(1).get("worker").textValue()).isEqualTo("w0");
    assertThat(shown.get(1).get("value").doubleValue()).isEqualTo(1.5);
    assertThat(shown.get(1).get("age_seconds").doubleValue()).isBetween(0.0, 60.0);
  }

  @Test
  void post_whatIsNoFigure_isTold() throws IOException {
    assertThat(call("POST", "{\"price\":{\"w0\":\"much\"}}", 400).at("/error/message").textValue())
        .contains("'price' of 'w0' is \"much\", not a number");
    assertThat(call("POST", "[]", 400).at("/error/message").textValue()).contains("METRIC");
    assertThat(call("POST", "{", 400).at("/error/message").textValue()).contains("line 1");
    assertThat(call("PUT", "{}", 405).at("/error/message").textValue()).contains("PUT");
  }

  @Test
  void news_reachWhoeverListens() throws Exception {
    ExternalMetricsBroadcast news = new ExternalMetricsBroadcast(kit.system(), figures);
    CompletableFuture<Boolean> heard = new CompletableFuture<>();
    kit.system().scheduler().scheduleAtFixedRate(
        Duration.ZERO,
        Duration.ofMillis(20),
        () -> {
          // A topic tells whoever has subscribed by then.
          news.publish("price", Map.of("w0", 3.0));
          if (figures.metric("price", "w0").value(System.nanoTime(), Long.MAX_VALUE) == 3.0) {
            heard.complete(true);
          }
        },
        kit.system().executionContext());

    assertThat(heard.get(60, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void news_crossBetweenNodes() {
    Serialization serialization = SerializationExtension.get(kit.system());
    ExternalMetricsBroadcast.Update said = new ExternalMetricsBroadcast.Update("price", Map.of("w0", 3.0, "w1", 1e-9));

    byte[] bytes = serialization.serialize(said).get();

    assertThat(serialization.deserialize(bytes, ExternalMetricsBroadcast.Update.class).get()).isEqualTo(said);
  }

  private JsonNode call(String method, String body, int status) throws IOException {
    return TestAdmin.call(handler, method, "/admin/figures", body, status);
  }
}
