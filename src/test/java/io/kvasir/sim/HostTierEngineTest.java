package io.kvasir.sim;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.core.EngineStats;
import io.kvasir.sim.lmcache.CacheController;
import io.kvasir.sim.lmcache.ControllerBinding;
import io.kvasir.sim.lmcache.NoneHash;
import io.kvasir.sim.settings.HostTierSettings;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What clients, metrics, events and an LMCache controller see of an engine's host memory. */
final class HostTierEngineTest extends EngineTest {
  private static final int DEVICE_BLOCKS = 100;

  @Test
  void promptThatTheDeviceForgot_isLoadedFromHost() throws Exception {
    SimEngine engine = start(settings().capacityBlocks(DEVICE_BLOCKS).hostTier(HostTierSettings.of(1000)));

    assertThat(cached(engine, 0, 1200)).isZero();
    assertThat(cached(engine, 50_000, 1500)).isZero(); // fills the device
    assertThat(cached(engine, 0, 1200)).isEqualTo(1024);

    EngineStats stats = engine.stats();
    assertThat(stats.queriedTokens()).isEqualTo(3900);
    assertThat(stats.hitTokens() + stats.hostHitTokens()).isEqualTo(1024);
    assertThat(stats.hostHitTokens()).isPositive();
    assertThat(get(engine, "/metrics").body())
        .contains("vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"kvasir-demo\"} " + (double) stats.hitTokens())
        .contains(
            "vllm:external_prefix_cache_hits_total{engine=\"0\",model_name=\"kvasir-demo\"} "
                + (double) stats.hostHitTokens())
        .contains(
            "vllm:external_prefix_cache_queries_total{engine=\"0\",model_name=\"kvasir-demo\"} "
                + (double) (3900 - stats.hitTokens()));
  }

  @Test
  void withoutHostTier_whatTheDeviceForgotIsComputed() throws Exception {
    SimEngine engine = start(settings().capacityBlocks(DEVICE_BLOCKS));

    cached(engine, 0, 1200);
    cached(engine, 50_000, 1599);

    assertThat(cached(engine, 0, 1200)).isZero();
  }

  @Test
  void controller_isToldWhatIsHeld() throws Exception {
    try (CacheController controller =
        CacheController.start(ControllerBinding.ANYWHERE, Duration.ZERO, NoneHash.WITHOUT_VLLM)) {
      SimEngine engine =
          start(
              settings()
                  .hostTier(HostTierSettings.of(64)
                      .withController(controller.workerAddress(), "e1", Duration.ofMillis(50))));

      cached(engine, 0, 1200);
      untilHeld(controller, 0, 1200, "{\"e1\":[\"LocalCPUBackend\",1024]}");

      cached(engine, 50_000, 600); // two chunks come where four fit
      untilHeld(controller, 0, 1200, "{\"e1\":[\"LocalCPUBackend\",512]}");
      untilHeld(controller, 50_000, 600, "{\"e1\":[\"LocalCPUBackend\",512]}");
    }
  }

  @Test
  void controllerAndEngineOfOneHashSeed_agree_ofTwoTheyDoNot() throws Exception {
    try (CacheController controller =
        CacheController.start(ControllerBinding.ANYWHERE, Duration.ZERO, NoneHash.of(0))) {
      SimEngine engine = start(settings().hostTier(HostTierSettings.of(64)
          .withController(controller.workerAddress(), "e1", Duration.ZERO).withNoneHash(NoneHash.of(0))));
      SimEngine other = start(settings().hostTier(HostTierSettings.of(64)
          .withController(controller.workerAddress(), "e2", Duration.ZERO)));

      cached(other, 0, 600);
      cached(engine, 0, 600);

      untilHeld(controller, 0, 600, "{\"e1\":[\"LocalCPUBackend\",512]}");
    }
  }

  @Test
  void ranks_areInstancesOfTheirOwn() throws Exception {
    try (CacheController controller =
        CacheController.start(ControllerBinding.ANYWHERE, Duration.ZERO, NoneHash.WITHOUT_VLLM)) {
      SimEngine engine =
          start(
              settings()
                  .ranks(2)
                  .hostTier(HostTierSettings.of(64).withController(controller.workerAddress(), "e1", Duration.ZERO)));

      post(engine, "/v1/completions", completion(0, 600).toString(), "x-data-parallel-rank", "1");

      untilHeld(controller, 0, 600, "{\"e1-1\":[\"LocalCPUBackend\",512]}");
    }
  }

  private static int cached(SimEngine engine, int from, int length) throws Exception {
    return ask(engine, "/v1/completions", completion(from, length).toString())
        .at("/usage/prompt_tokens_details/cached_tokens")
        .asInt(-1);
  }

  private static ObjectNode completion(int from, int length) {
    ObjectNode request = JSON.createObjectNode().put("model", "kvasir-demo").put("max_tokens", 1);
    tokens(request.putArray("prompt"), from, length);
    return request;
  }

  private static void tokens(ArrayNode list, int from, int length) {
    for (int token = from; token < from + length; token++) {
      list.add(token);
    }
  }

  private static void untilHeld(CacheController controller, int from, int length, String layout) {
    ObjectNode request = JSON.createObjectNode();
    tokens(request.putArray("tokens"), from, length);
    HttpRequest ask =
        HttpRequest.newBuilder(controller.url().resolve("/lookup"))
            .POST(HttpRequest.BodyPublishers.ofString(request.toString()))
            .build();
    await("held: " + layout, () ->
        JSON.readTree(CLIENT.send(ask, HttpResponse.BodyHandlers.ofString()).body())
            .path("layout_info").toString().equals(layout));
  }
}
