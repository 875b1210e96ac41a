package io.kvasir.sim.lmcache;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Workers and controller over real sockets; the answers are those that LMCache 0.5.6's controller gave. */
final class CacheControllerTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private static final Duration BEAT = Duration.ofMillis(50);
  private static final int[] PROMPT = IntStream.range(0, 1000).toArray();

  private CacheController controller;
  private @Nullable CacheWorker worker;
  private final ChunkNames names = new ChunkNames(NoneHash.WITHOUT_VLLM);

  @BeforeEach
  void start() throws IOException {
    controller = CacheController.start(ControllerBinding.ANYWHERE, Duration.ZERO, NoneHash.WITHOUT_VLLM);
  }

  @AfterEach
  void stop() {
    if (worker != null) {
      worker.close();
    }
    controller.close();
  }

  @Test
  void nobody() throws Exception {
    assertThat(get("/controller/workers").toString()).isEqualTo("{\"workers\":[],\"total_count\":0}");
    assertThat(get("/controller/key-stats").toString())
        .isEqualTo(
            "{\"total_key_count\":0,\"total_instance_count\":0,\"total_worker_count\":0,\"instances\":[]}");
    JsonNode lookup = lookup(PROMPT);
    assertThat(lookup.path("event_id").asText()).matches("Lookup[0-9a-f-]{36}");
    assertThat(lookup.path("layout_info").toString()).isEqualTo("{}");
    assertThat(post("/health", "{\"instance_id\":\"no\"}").path("error_codes").toString()).isEqualTo("{}");
  }

  @Test
  void workersChunks_areFound() throws Exception {
    work(Duration.ZERO);
    keep(0);
    keep(1);
    keep(2);
    await(() -> layout(PROMPT).equals("{\"e1\":[\"LocalCPUBackend\",768]}"));

    worker().evict(names.remove(2));
    await(() -> layout(PROMPT).equals("{\"e1\":[\"LocalCPUBackend\",512]}"));

    JsonNode one = get("/controller/workers?instance_id=e1&worker_id=0");
    assertThat(one.properties()).extracting(field -> field.getKey())
        .containsExactly(
            "instance_id", "worker_id", "ip", "port", "peer_init_url", "registration_time", "last_heartbeat_time",
            "key_count");
    assertThat(one.path("key_count").asInt()).isEqualTo(2);
    assertThat(one.path("last_heartbeat_time")).isEqualTo(one.path("registration_time"));
    assertThat(get("/controller/workers").at("/workers/0")).isEqualTo(one);
    assertThat(get("/controller/workers?instance_id=e1").path("total_count").asInt()).isEqualTo(1);
    assertThat(get("/controller/key-stats").at("/instances/0").toString())
        .isEqualTo("{\"instance_id\":\"e1\",\"key_count\":2,\"worker_count\":1}");
    assertThat(post("/query_instance", "{\"event_id\":\"x\",\"ip\":\"127.0.0.1\"}").path("res").asText())
        .isEqualTo("e1");
    assertThat(post("/health", "{\"instance_id\":\"e1\"}").path("error_codes").toString()).isEqualTo("{\"0\":0}");
    assertThat(post("/query_worker_info", "{\"instance_id\":\"all\"}").at("/worker_infos/0/instance_id").asText())
        .isEqualTo("e1");
    assertThat(
            post("/pin", body(PROMPT).put("instance_id", "e1").put("location", "LocalCPUBackend").toString())
                .path("num_tokens").asInt())
        .isEqualTo(512);
  }

  @Test
  void restartedController_hearsEverythingAgain_fromWorkersWithHeartbeats() throws Exception {
    work(BEAT);
    keep(0);
    keep(1);
    await(() -> layout(PROMPT).equals("{\"e1\":[\"LocalCPUBackend\",512]}"));

    restart();
    keep(2);

    await(() -> layout(PROMPT).equals("{\"e1\":[\"LocalCPUBackend\",768]}"));
    assertThat(get("/controller/workers?instance_id=e1&worker_id=0").path("key_count").asInt()).isEqualTo(3);
  }

  @Test
  void restartedController_staysEmpty_withoutHeartbeats() throws Exception {
    work(Duration.ZERO);
    keep(0);
    await(() -> !layout(PROMPT).equals("{}"));

    restart();
    keep(1);
    // Another one's chunk, told later, shows that the first one's could have come.
    try (CacheWorker other = new CacheWorker(controller.workerAddress(), "e2", Duration.ZERO)) {
      other.admit(names.name(0));
      await(() -> layout(PROMPT).equals("{\"e2\":[\"LocalCPUBackend\",256]}"));
    }

    assertThat(get("/controller/workers").path("total_count").asInt()).isEqualTo(1);
  }

  @Test
  void workerThatDies_keepsItsChunks_untilItIsBack() throws Exception {
    // At its first heartbeat it would be asked for everything again, and could die in the middle of that.
    work(Duration.ZERO);
    keep(0);
    await(() -> layout(PROMPT).equals("{\"e1\":[\"LocalCPUBackend\",256]}"));
    worker().close();
    assertThat(layout(PROMPT)).isEqualTo("{\"e1\":[\"LocalCPUBackend\",256]}");

    work(BEAT);

    await(() -> layout(PROMPT).equals("{}"));
  }

  @Test
  void nonsense_isRefused_asByFastApi() throws Exception {
    assertThat(status("POST", "/lookup", "{}"))
        .isEqualTo(
            "422 {\"detail\":[{\"type\":\"missing\",\"loc\":[\"body\",\"tokens\"],\"msg\":\"Field required\","
                + "\"input\":{}}]}");
    assertThat(status("POST", "/lookup", "{\"tokens\":\"x\"}"))
        .isEqualTo(
            "422 {\"detail\":[{\"type\":\"list_type\",\"loc\":[\"body\",\"tokens\"],"
                + "\"msg\":\"Input should be a valid list\",\"input\":\"x\"}]}");
    assertThat(status("POST", "/lookup", "{\"tokens\":[1,\"x\"]}")).startsWith("422 ");
    assertThat(status("POST", "/lookup", "{")).startsWith("422 ");
    assertThat(status("POST", "/lookup", "[]")).startsWith("422 ");
    assertThat(status("POST", "/query_instance", "{\"ip\":\"10.9.9.9\"}"))
        .startsWith("500 {\"detail\":\"1 validation error for QueryInstResponse");
    assertThat(status("POST", "/clear", "{\"instance_id\":\"no\",\"location\":\"LocalCPUBackend\"}"))
        .isEqualTo("500 {\"detail\":\"The number of tokens cleared should be the same across all workers.\"}");
    assertThat(status("GET", "/controller/workers?instance_id=no", ""))
        .isEqualTo("404 {\"detail\":\"No workers found for instance no\"}");
    assertThat(status("GET", "/controller/workers?instance_id=no&worker_id=3", ""))
        .isEqualTo("404 {\"detail\":\"Worker (no, 3) not found\"}");
    assertThat(status("GET", "/controller/workers?instance_id=no&worker_id=x", "")).startsWith("422 ");
    assertThat(status("GET", "/nowhere", "")).isEqualTo("404 {\"detail\":\"Not Found\"}");
    assertThat(status("GET", "/lookup", "")).isEqualTo("405 {\"detail\":\"Method Not Allowed\"}");
    assertThat(status("POST", "/controller/workers", "{}")).isEqualTo("405 {\"detail\":\"Method Not Allowed\"}");
    assertThat(status("DELETE", "/lookup", "")).isEqualTo("405 {\"detail\":\"Method Not Allowed\"}");
  }

  private void work(Duration heartbeat) {
    worker = new CacheWorker(controller.workerAddress(), "e1", heartbeat);
  }

  private CacheWorker worker() {
    return Objects.requireNonNull(worker);
  }

  /** The worker keeps a chunk of the prompt; an engine would call it by the key {@code chunk}. */
  private void keep(int chunk) {
    worker().admit(
        names.add(
            chunk == 0 ? null : (long) chunk - 1, chunk, IntStream.range(chunk * 256, chunk * 256 + 256).toArray()));
  }

  /** The controller dies and another one starts at its ports. */
  private void restart() throws IOException {
    int port = controller.url().getPort();
    ControllerAddress address = controller.workerAddress();
    controller.close();
    controller =
        CacheController.start(
            new ControllerBinding(
                "127.0.0.1", port, address.pullPort(), address.replyPort(), controller.heartbeatPort()),
            Duration.ZERO,
            NoneHash.WITHOUT_VLLM);
  }

  private String layout(int[] tokens) throws IOException, InterruptedException {
    return lookup(tokens).path("layout_info").toString();
  }

  private JsonNode lookup(int[] tokens) throws IOException, InterruptedException {
    return post("/lookup", body(tokens).toString());
  }

  private static ObjectNode body(int[] tokens) {
    ObjectNode body = JSON.createObjectNode();
    ArrayNode list = body.putArray("tokens");
    IntStream.of(tokens).forEach(list::add);
    return body;
  }

  private JsonNode get(String path) throws IOException, InterruptedException {
    return JSON.readTree(send("GET", path, "").body());
  }

  private JsonNode post(String path, String body) throws IOException, InterruptedException {
    HttpResponse<String> response = send("POST", path, body);
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return JSON.readTree(response.body());
  }

  private String status(String method, String path, String body) throws IOException, InterruptedException {
    HttpResponse<String> response = send(method, path, body);
    return response.statusCode() + " " + response.body();
  }

  private HttpResponse<String> send(String method, String path, String body) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(controller.url().resolve(path))
            .timeout(Duration.ofSeconds(60))
            .method(method, HttpRequest.BodyPublishers.ofString(body))
            .build();
    return CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
  }
}
