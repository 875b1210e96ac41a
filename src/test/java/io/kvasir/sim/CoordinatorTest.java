package io.kvasir.sim;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.load.Ports;
import io.kvasir.sim.lmcache.CacheCoordinator;
import io.kvasir.sim.settings.HostTierSettings;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Engines and the stand-in for LMCache's coordinator over real sockets. */
final class CoordinatorTest extends EngineTest {
  private static final Duration BEAT = Duration.ofMillis(50);

  private CacheCoordinator coordinator;

  @BeforeEach
  void startCoordinator() throws IOException {
    coordinator = CacheCoordinator.start("127.0.0.1", Ports.free(), Duration.ofSeconds(30));
  }

  @AfterEach
  void stopCoordinator() {
    coordinator.close();
  }

  @Test
  void engine_isAMember() throws Exception {
    SimEngine engine = member("mp-1");

    JsonNode listed = awaitMember();

    assertThat(listed.path("instance_id").asText()).isEqualTo("mp-1");
    assertThat(listed.path("ip").asText()).isEqualTo("127.0.0.1");
    assertThat(listed.path("http_port").asInt()).isEqualTo(engine.url().getPort());
    assertThat(send("GET", "/healthz", "")).isEqualTo("200 {\"status\":\"healthy\"}");
  }

  @Test
  void restartedCoordinator_isJoinedAgain() throws Exception {
    member("mp-1");
    awaitMember();
    int port = coordinator.url().getPort();

    coordinator.close();
    // The system may keep the port for a moment, for connections that were open.
    await(() -> startedAgain(port));

    awaitMember();
  }

  @Test
  void silentMember_isForgotten() throws Exception {
    coordinator.close();
    coordinator = CacheCoordinator.start("127.0.0.1", 0, Duration.ofMillis(500));
    SimEngine engine = member("mp-1");
    awaitMember();

    engine.close();

    await(() -> instances().isEmpty());
  }

  @Test
  void prefetch_findsWhatIsInHostMemory_andTellsItOnce() throws Exception {
    SimEngine engine = member("mp-1");
    awaitMember();
    ObjectNode prompt = tokens("prompt", 600).put("model", "kvasir-demo").put("max_tokens", 1);
    ask(engine, "/v1/completions", prompt.toString());

    JsonNode submitted = JSON.readTree(body(send("POST", "/cache/prefetches", prefetch("mp-1", 1024))));
    assertThat(submitted.path("instance_id").asText()).isEqualTo("mp-1");
    assertThat(submitted.path("chunks").asInt()).isEqualTo(4);
    assertThat(submitted.path("status").asText()).isEqualTo("submitted");
    String poll = "/cache/prefetches/mp-1/" + submitted.path("request_id").asText();
    JsonNode[] progress = new JsonNode[1];
    await(
        () -> {
          progress[0] = JSON.readTree(body(send("GET", poll, "")));
          return progress[0].path("status").asText().equals("completed");
        });

    assertThat(progress[0].path("found_keys").asInt()).isEqualTo(2);
    assertThat(progress[0].path("total_keys").asInt()).isEqualTo(4);
    assertThat(send("GET", poll, "")).startsWith("404 ");
  }

  @Test
  void whatHostMemoryKeeps_isInTheDirectory_untilItIsDroppedOrTheEngineIsSilent() throws Exception {
    coordinator.close();
    coordinator = CacheCoordinator.start("127.0.0.1", 0, Duration.ofSeconds(3));
    SimEngine engine =
        start(settings().hostTier(HostTierSettings.of(32).withCoordinator(coordinator.url(), "mp-1", BEAT)));
    ask(engine, "/v1/completions", "{\"model\":\"kvasir-demo\",\"max_tokens\":1,\"cache_salt\":\"s\","
        + tokens("prompt", 600).toString().substring(1));
    await(() -> directory(600, "s").findValuesAsText("instance_id").equals(List.of("mp-1", "mp-1")));
    JsonNode first = directory(600, "s").at("/results/0");
    assertThat(first.path("token_ids")).hasSize(256);
    assertThat(first.at("/placements/0/tier").asText()).isEqualTo("l1");
    assertThat(first.at("/placements/0/size_bytes").asLong()).isPositive();
    assertThat(directory(600, "").findValuesAsText("instance_id")).isEmpty();

    ask(engine, "/v1/completions",
        tokens("prompt", 512).put("model", "kvasir-demo").put("max_tokens", 1).toString());
    await(() -> directory(600, "").findValuesAsText("instance_id").equals(List.of("mp-1", "mp-1")));
    assertThat(directory(600, "s").findValuesAsText("instance_id")).isEmpty();

    engine.close();
    await(() -> directory(600, "").findValuesAsText("instance_id").isEmpty());
  }

  @Test
  void prefetch_ofLessThanAChunk_isNothing() throws Exception {
    member("mp-1");
    awaitMember();

    assertThat(send("POST", "/cache/prefetches", prefetch("mp-1", 255)))
        .isEqualTo("200 {\"instance_id\":\"mp-1\",\"request_id\":\"\",\"chunks\":0,\"status\":\"noop\"}");
  }

  @Test
  void whatIsUnknown_isRefused() throws Exception {
    assertThat(send("PUT", "/instances/no/heartbeat", ""))
        .isEqualTo("404 {\"error\":\"unknown instance no; re-register\"}");
    assertThat(send("POST", "/cache/prefetches", prefetch("no", 600)))
        .isEqualTo("404 {\"detail\":\"no MP server registered with instance_id='no'\"}");
    assertThat(send("GET", "/cache/prefetches/no/x", "")).startsWith("404 ");
    assertThat(send("POST", "/instances", "{\"http_port\":1}")).startsWith("422 ");
    assertThat(send("DELETE", "/instances/no", "")).isEqualTo("204 ");
    assertThat(send("GET", "/nowhere", "")).isEqualTo("404 {\"detail\":\"Not Found\"}");
  }

  @Test
  void memberThatDoesNotAnswer_isABadGateway() throws Exception {
    assertThat(send("POST", "/instances", "{\"instance_id\":\"gone\",\"ip\":\"127.0.0.1\",\"http_port\":1}"))
        .isEqualTo("200 {\"instance_id\":\"gone\",\"re_registered\":false}");
    assertThat(send("POST", "/instances", "{\"instance_id\":\"gone\",\"ip\":\"127.0.0.1\",\"http_port\":1}"))
        .isEqualTo("200 {\"instance_id\":\"gone\",\"re_registered\":true}");

    assertThat(send("POST", "/cache/prefetches", prefetch("gone", 600))).startsWith("502 ");
  }

  private boolean startedAgain(int port) {
    try {
      coordinator = CacheCoordinator.start("127.0.0.1", port, Duration.ofSeconds(30));
      return true;
    } catch (IOException taken) {
      return false;
    }
  }

  private SimEngine member(String instance) throws IOException {
    return start(settings().hostTier(HostTierSettings.of(64).withCoordinator(coordinator.url(), instance, BEAT)));
  }

  private JsonNode awaitMember() throws Exception {
    await(() -> !instances().isEmpty());
    return instances().get(0);
  }

  private JsonNode instances() throws IOException, InterruptedException {
    return JSON.readTree(body(send("GET", "/instances", ""))).path("instances");
  }

  private JsonNode directory(int length, String salt) throws IOException, InterruptedException {
    ObjectNode lookup = tokens("token_ids", length).put("model_name", "kvasir-demo").put("cache_salt", salt);
    return JSON.readTree(body(send("POST", "/directory/lookup", lookup.toString())));
  }

  private static String prefetch(String instance, int length) {
    return tokens("token_ids", length)
        .put("instance_id", instance)
        .put("model_name", "kvasir-demo")
        .put("world_size", 1)
        .put("cache_salt", "")
        .toString();
  }

  private static ObjectNode tokens(String field, int length) {
    ObjectNode body = JSON.createObjectNode();
    for (int token = 0; token < length; token++) {
      body.withArray(field).add(token);
    }
    return body;
  }

  /** The answer's status and body. */
  private String send(String method, String path, String body) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(coordinator.url().resolve(path))
            .timeout(Duration.ofSeconds(60))
            .method(method, BodyPublishers.ofString(body))
            .build();
    HttpResponse<String> response = CLIENT.send(request, BodyHandlers.ofString());
    return response.statusCode() + " " + response.body();
  }

  private static String body(String answer) {
    return answer.substring(4);
  }
}
