package io.kvasir.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.events.EventFeed;
import io.kvasir.execution.FakeCells;
import io.kvasir.routing.Retention;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Role;
import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class FleetHandlerTest {
  private static final PodDefaults DEFAULTS =
      new PodDefaults(
          Role.BOTH, Map.of("zone", "a"), 256,
          new PodDefaults.EngineDefaults("h100", 1, 64, model -> model.equals("small") ? 8 : 16, 4096, Retention.NONE),
          FleetHandlerTest::events, FleetHandlerTest::kvTransfer);

  private final FakeCells cells = new FakeCells();
  private @Nullable String silence;
  private @Nullable Integer askedOverGrpc;
  private final FleetHandler admin =
      new FleetHandler(cells.pods, cells.fleet, cells.fleet::cluster, DEFAULTS, this::complete);

  @Test
  void post_leastDescription_isFilledFromTheDefaults() throws IOException {
    JsonNode answer = call("POST", "/admin/workers", """
        {"name":"p0","url":"http://10.0.0.7:8000/","models":["small"]}""", 201);

    assertThat(answer.path("workers").intValue()).isEqualTo(1);
    assertThat(cells.pods.added).containsExactly(
        new PodSpec("p0", URI.create("http://10.0.0.7:8000"), Role.BOTH, Set.of("small"),
            Map.of("zone", "a"), new PodSpec.Engine("h100", 1, 8, 256, 4096), List.of(), null));
  }

  @Test
  void post_wholeDescription_isTakenAsItIs() throws IOException {
    call("POST", "/admin/workers", """
        {"name":"p0","url":"https://gpu-7","role":"decode","models":["m","lora"],"ranks":4,"block_size":64,
         "labels":{"zone":"b"},"max_in_flight":9,"engine":"h200","capacity_blocks":77,
         "events":{"source":"push"},"kv_transfer":{"dialect":"sglang"}}""", 201);

    assertThat(cells.pods.added).containsExactly(
        new PodSpec("p0", URI.create("https://gpu-7"), Role.DECODE, Set.of("m", "lora"), Map.of("zone", "b"),
            new PodSpec.Engine("h200", 4, 64, 9, 77), List.of(new EventFeed.Push("4 ranks")),
            transfer("DECODE at gpu-7")));
  }

  @Test
  void post_urlAlone_isCompletedByTheEngine() throws IOException {
    JsonNode answer = call("POST", "/admin/workers", "{\"url\":\"http://10.0.0.7:8000\",\"ranks\":3}", 201);

    assertThat(answer.path("pod").textValue()).isEqualTo("learnt");
    assertThat(answer.path("workers").intValue()).as("what is given wins").isEqualTo(3);
    assertThat(answer.path("learnt").toString()).isEqualTo(
        "{\"engine\":\"vLLM 0.32.0\",\"models\":[\"m\"],\"block_size\":32,\"events\":\"zmq\","
            + "\"event_endpoints\":[\"tcp://10.0.0.7:5557\"],\"load\":\"read at /metrics.\","
            + "\"remarks\":[\"It could do better.\"]}");
    assertThat(cells.pods.added).singleElement().satisfies(pod -> {
      assertThat(pod.url()).isEqualTo(URI.create("http://10.0.0.7:8000"));
      assertThat(pod.engine().blockSize()).isEqualTo(32);
      assertThat(pod.learnt()).isNotNull();
    });
  }

  @Test
  void post_engineThatCannotBeAsked_isToldWithTheRemedy() throws IOException {
    silence = "nobody listens there; does the engine run?";
    JsonNode answer = call("POST", "/admin/workers", "{\"url\":\"http://10.0.0.7:8000\"}", 422);
    assertThat(answer.at("/error/field").textValue()).isEqualTo("url");
    assertThat(answer.at("/error/message").textValue()).contains("does the engine run?", "models");
    call("POST", "/admin/workers", "{\"url\":\"somewhere\"}", 400);
    assertThat(cells.pods.added).isEmpty();
  }

  @Test
  void post_portOfGrpc_isWhereTheEngineIsAsked() throws IOException {
    call("POST", "/admin/workers", "{\"url\":\"http://10.0.0.7:8000\",\"grpc_port\":50051}", 201);
    assertThat(askedOverGrpc).isEqualTo(50_051);
    for (String wrong : List.of("0", "65536", "\"50051\"", "null")) {
      String given = "{\"url\":\"http://10.0.0.7:8000\",\"grpc_port\":" + wrong + "}";
      assertThat(call("POST", "/admin/workers", given, 400).at("/error/faults"))
          .extracting(fault -> fault.get("field").textValue()).containsExactly("grpc_port");
    }
  }

  private PodCompletion.Completed complete(ObjectNode given, URI url, @Nullable Integer grpcPort)
      throws IOException {
    askedOverGrpc = grpcPort;
    if (silence != null) {
      throw new IOException(silence);
    }
    ObjectNode completed = given.deepCopy().put("block_size", 32);
    completed.put("name", "learnt").putArray("models").add("m");
    completed.putObject("events").put("endpoint", "tcp://10.0.0.7:5557");
    return new PodCompletion.Completed(
        completed, new PodSpec.Learnt("{}", "vLLM 0.32.0", List.of("It could do better.")), "read at /metrics.");
  }

  @Test
  void post_manyFaults_areAllTold() throws IOException {
    JsonNode answer = call("POST", "/admin/workers", """
        {"name":"a pod","url":"ftp://x/y","role":"boss","models":[],"ranks":0,"block_size":"big","labels":{"a":1},
         "max_in_flight":1.5,"engine":"","events":{"source":"wrong"},
         "kv_transfer":{"dialect":"wrong"},"colour":"red"}""", 400);

    assertThat(answer.at("/error/faults")).extracting(fault -> fault.get("field").textValue())
        .containsExactlyInAnyOrder(
            "name", "url", "role", "models", "ranks", "block_size", "labels.a", "max_in_flight", "engine",
            "events.source", "kv_transfer.dialect", "colour");
    assertThat(cells.pods.added).isEmpty();
  }

  @Test
  void cluster_hasNodesCellsAndWorkers() throws IOException {
    cells.worker("a", URI.create("http://a:1"), "m");
    cells.fleet.cost = new WorkerStatus.PrefillCost(0.05, 1e-6, 40);
    JsonNode cluster = call("GET", "/admin/cluster", "", 200);

    assertThat(cluster.at("/nodes/0/address").textValue()).isEqualTo("10.0.0.1:7355");
    assertThat(cluster.at("/workers/0/cost").toString())
        .isEqualTo("{\"ms_per_token\":0.05,\"ms_per_pair\":1.0E-6,\"samples\":40}");
    assertThat(cluster.at("/nodes/0/version").textValue()).isEqualTo("1.2.3");
    assertThat(cluster.at("/nodes/0/cut_off").booleanValue()).isFalse();
    assertThat(cluster.at("/nodes/0/uptime_s").longValue()).isEqualTo(120);
    assertThat(cluster.at("/cells/0/home").textValue()).isEqualTo("10.0.0.1:7355");
    assertThat(cluster.at("/cells/0/pressure").doubleValue()).isEqualTo(0.25);
    assertThat(cluster.at("/cells/0/standbys/0/node").textValue()).isEqualTo("10.0.0.2:7355");
    assertThat(cluster.at("/cells/0/standbys/0/warm").booleanValue()).isTrue();
    assertThat(cluster.at("/cells/0/standbys/0/behind").longValue()).isEqualTo(3);
    assertThat(cluster.at("/cells/0/standbys/0/lag_ms").longValue()).isEqualTo(20);
    assertThat(cluster.at("/cells/0/waiting").toString())
        .isEqualTo("[{\"class\":\"bulk\",\"requests\":7,\"tokens\":900,\"oldest_ms\":1500,\"held\":{\"busy\":7}}]");
    assertThat(cluster.at("/cells/0/programs").toString())
        .isEqualTo("{\"known\":5,\"live\":4,\"live_tokens\":120000,\"waiting\":2}");
    assertThat(cluster.at("/cells/0/workers").intValue()).isEqualTo(1);
    assertThat(cluster.at("/workers/0/id").textValue()).isEqualTo("a");
    call("POST", "/admin/cluster", "{}", 405);
  }

  @Test
  void post_noJson_isTold() throws IOException {
    JsonNode answer = call("POST", "/admin/workers", "{\"name\":", 400);

    assertThat(answer.at("/error/message").textValue()).contains("not valid JSON");
    JsonNode deep = call("POST", "/admin/workers", "{\"name\":" + "[".repeat(1001), 400);
    assertThat(deep.at("/error/message").textValue()).contains("nesting depth (1001)");
    call("POST", "/admin/workers", "", 400);
    call("POST", "/admin/workers", "[]", 400);
  }

  @Test
  void post_takenName_isAConflict() throws IOException {
    String pod = "{\"name\":\"p0\",\"url\":\"http://h:1\",\"models\":[\"m\"]}";
    call("POST", "/admin/workers", pod, 201);

    JsonNode answer = call("POST", "/admin/workers", pod, 409);

    assertThat(answer.at("/error/message").textValue()).contains("p0");
  }

  @Test
  void get_listsWorkersWithTheirState() throws IOException {
    cells.worker("p0", URI.create("http://h:1"), "m");

    JsonNode worker = call("GET", "/admin/workers", "", 200).at("/workers/0");

    assertThat(worker.get("id").textValue()).isEqualTo("p0");
    assertThat(worker.get("health").textValue()).isEqualTo("healthy");
    assertThat(worker.get("models").get(0).textValue()).isEqualTo("m");
    assertThat(worker.get("last_sequence").intValue()).isEqualTo(-1);
  }

  @Test
  void drainAndDelete_knownAndUnknownPods() throws IOException {
    cells.worker("p/0", URI.create("http://h:1"), "m");

    call("POST", "/admin/workers/p%2F0/drain", "", 200);
    assertThat(cells.pods.drained).containsExactly("p/0");
    call("DELETE", "/admin/workers/p%2F0", "", 200);
    assertThat(cells.workers).isEmpty();
    call("DELETE", "/admin/workers/p%2F0", "", 404);
    call("POST", "/admin/workers/none/drain", "", 404);
  }

  @Test
  void drain_canBeFollowed_andTakenBack() throws IOException {
    cells.worker("p", "p#0", URI.create("http://h:1"), 0, 2, "m");
    cells.worker("p", "p#1", URI.create("http://h:1"), 1, 2, "m");
    assertThat(call("GET", "/admin/workers/p", "", 200).path("state").textValue()).isEqualTo("serving");

    call("POST", "/admin/workers/p/drain", "", 200);
    JsonNode drained = call("GET", "/admin/workers/p", "", 200);
    assertThat(drained.path("state").textValue()).isEqualTo("drained");
    assertThat(drained.path("workers")).hasSize(2);

    assertThat(call("POST", "/admin/workers/p/undrain", "", 200).path("state").textValue()).isEqualTo("serving");
    assertThat(call("GET", "/admin/workers/p", "", 200).path("state").textValue()).isEqualTo("serving");
    cells.pods.withheld.add("p");
    assertThat(call("POST", "/admin/workers/p/undrain", "", 409).at("/error/message").textValue()).contains("source");
    call("POST", "/admin/workers/none/undrain", "", 404);
    call("GET", "/admin/workers/none", "", 404);
  }

  @Test
  void cells_sumUpTheirWorkers() throws IOException {
    cells.worker("a", URI.create("http://a:1"), "m", "lora");
    cells.worker("b", URI.create("http://b:1"), "m");

    JsonNode cell = call("GET", "/admin/cells", "", 200).at("/cells/0");

    assertThat(cell.path("models").toString()).isEqualTo("[\"lora\",\"m\"]");
    assertThat(cell.path("workers").intValue()).isEqualTo(2);
    assertThat(cell.path("healthy").intValue()).isEqualTo(2);
  }

  @Test
  void worker_showsHowItHandsBlocksOver() throws IOException {
    cells.splitter("p", URI.create("http://h:1"), Role.PREFILL, KvTransfer.Dialect.VLLM_PUSH, "m");

    JsonNode transfer = call("GET", "/admin/workers", "", 200).at("/workers/0/kv_transfer");

    assertThat(transfer.path("dialect").textValue()).isEqualTo("vllm-push");
    assertThat(transfer.path("engine_id").textValue()).isEqualTo("engine-p");
  }

  @Test
  void wrongMethodsAndPaths_areTold() throws IOException {
    call("PUT", "/admin/workers", "", 405);
    call("GET", "/admin/workers/p0/drain", "", 405);
    call("PUT", "/admin/workers/p0", "", 405);
    call("GET", "/admin/other", "", 404);
  }

  private static List<EventFeed> events(JsonNode events, int ranks, BiConsumer<String, String> faults) {
    if (events.has("endpoint")) {
      return List.of(new EventFeed.Zmq(events.get("endpoint").asText(), null, "", false));
    }
    if (events.get("source").asText().equals("wrong")) {
      faults.accept("events.source", "is wrong");
    }
    return List.of(new EventFeed.Push(ranks + " ranks"));
  }

  private static @Nullable KvTransfer kvTransfer(
      @Nullable JsonNode given, Role role, URI url, BiConsumer<String, String> faults) {
    if (given == null) {
      return null;
    }
    if (given.get("dialect").asText().equals("wrong")) {
      faults.accept("kv_transfer.dialect", "is wrong");
    }
    return transfer(role + " at " + url.getHost());
  }

  private static KvTransfer transfer(String host) {
    return new KvTransfer(KvTransfer.Dialect.SGLANG, "", host, 8998, "", 1, 1, new KvTransfer.TransferCost(6, 5));
  }

  private JsonNode call(String method, String target, String body, int status) throws IOException {
    return TestAdmin.call(admin, method, target, body, status);
  }
}
