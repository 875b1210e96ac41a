package io.kvasir.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.Node;
import io.kvasir.app.node.StartException;
import io.kvasir.engines.EventPublishing;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The router whose predictions {@link Truth} compares: one that runs, or a node in this process. */
final class TruthRouter implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final long STARTUP_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final int PAUSE_MILLIS = 50;
  private static final long OUTCOME_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final URI gateway;
  private final URI management;
  private final HttpClient http;
  private final @Nullable Node node;

  private TruthRouter(URI gateway, URI management, HttpClient http, @Nullable Node node) {
    this.gateway = gateway;
    this.management = management;
    this.http = http;
    this.node = node;
  }

  /**
   * A worker as the router has it.
   *
   * @param id its name in answers' headers
   * @param url of its engine
   * @param role {@code both}, {@code prefill} or {@code decode}
   */
  record Worker(String id, URI url, String role) {}

  /** A router that runs. */
  static TruthRouter running(URI gateway, URI management, HttpClient http) {
    return new TruthRouter(gateway, management, http, null);
  }

  /**
   * Starts a node before engines and waits until it finds all of them healthy.
   *
   * @param addresses one for each of {@code engines}
   * @param modelDirectory of the model's tokenizer and template; null: the bundled model's, or the engine's tokens
   * @param settings of the node, by their paths below {@code kvasir}, laid over the others
   */
  static TruthRouter start(
      List<EngineAddress> addresses,
      List<TruthEngine> engines,
      @Nullable String modelDirectory,
      Map<String, String> settings,
      HttpClient http)
      throws IOException, InterruptedException {
    try {
      StringBuilder config = new StringBuilder(config(addresses, engines, modelDirectory));
      settings.forEach((path, value) -> config.append("kvasir.%s = %s%n".formatted(path, value)));
      Node node = new Node(KvasirConfig.of(ConfigFactory.parseString(config.toString())));
      TruthRouter router = new TruthRouter(node.gatewayUrl(), node.managementUrl(), http, node);
      router.awaitHealthy(addresses.size());
      return router;
    } catch (ConfigException | StartException e) {
      throw new IOException("the router does not start: " + e.getMessage(), e);
    }
  }

  URI gateway() {
    return gateway;
  }

  URI management() {
    return management;
  }

  /** Its workers. */
  List<Worker> workers() throws IOException, InterruptedException {
    List<Worker> workers = new ArrayList<>();
    for (JsonNode worker : get("/admin/workers").path("workers")) {
      workers.add(
          new Worker(
              worker.path("id").asText(),
              URI.create(worker.path("url").asText()),
              worker.path("role").asText()));
    }
    return workers;
  }

  /** The record of a request's last decision with its outcomes; missing where it was not recorded. */
  JsonNode decision(String requestId) throws IOException, InterruptedException {
    String id = URLEncoder.encode(requestId, StandardCharsets.UTF_8);
    return get("/admin/decisions?limit=1&request=" + id).path("decisions").path(0);
  }

  /**
   * Whether the router itself found that a worker had evicted what it was predicted to have of a request before the
   * prompt's turn. Waits for the outcome to be recorded, which may come a little after the answer.
   */
  boolean isOvertaken(String requestId, String worker) throws IOException, InterruptedException {
    long from = System.nanoTime();
    while (System.nanoTime() - from < OUTCOME_NANOS) {
      for (JsonNode outcome : decision(requestId).path("outcomes")) {
        if (outcome.path("worker").asText().equals(worker)) {
          return outcome.path("hits").asText().equals("overtaken");
        }
      }
      Thread.sleep(PAUSE_MILLIS);
    }
    return false;
  }

  @Override
  public void close() {
    if (node != null) {
      node.close();
    }
  }

  private JsonNode get(String path) throws IOException, InterruptedException {
    HttpResponse<byte[]> answer =
        http.send(
            HttpRequest.newBuilder(management.resolve(path)).timeout(TIMEOUT).build(), BodyHandlers.ofByteArray());
    if (answer.statusCode() != 200) {
      throw new IOException(management.resolve(path) + " answered " + answer.statusCode());
    }
    return JSON.readTree(answer.body());
  }

  private void awaitHealthy(int count) throws IOException, InterruptedException {
    long from = System.nanoTime();
    while (true) {
      JsonNode workers = get("/admin/workers").path("workers");
      int healthy = 0;
      for (JsonNode worker : workers) {
        healthy += worker.path("health").asText().equals("healthy") ? 1 : 0;
      }
      if (healthy == count) {
        return;
      }
      if (System.nanoTime() - from > STARTUP_NANOS) {
        close();
        throw new IOException("workers that do not get healthy: " + workers);
      }
      Thread.sleep(PAUSE_MILLIS);
    }
  }

  /** JSON, which is HOCON, too. */
  private static String config(
      List<EngineAddress> addresses, List<TruthEngine> engines, @Nullable String modelDirectory) {
    TruthEngine first = engines.getFirst();
    String name = first.models().getFirst();
    ObjectNode model = JSON.createObjectNode().put("name", name).put("block-size", TruthEngine.promptBlock(engines));
    if (modelDirectory != null || name.equals("kvasir-demo")) {
      model.put("directory", modelDirectory != null ? modelDirectory : "bundled:kvasir-demo");
    } else {
      model.put("mode", "engine");
    }
    ArrayNode loras = model.putArray("loras");
    first.models().stream().skip(1).forEach(loras::add);
    ArrayNode pods = JSON.createArrayNode();
    for (int i = 0; i < addresses.size(); i++) {
      pods.add(pod(addresses.get(i), engines.get(i)));
    }
    return
        """
        kvasir {
          gateway { host = "127.0.0.1", port = 0, drain-timeout = 1 s }
          access.open-routing-details = true
          management { host = "127.0.0.1", port = 0 }
          # Short prompts are to be handed over, too.
          routing.profiles.prefill-decode.workflow.remote-prefill = always
          decisions { sample = 1, recent = 1000 }
          models = [%s]
          pods = %s
        }
        """
        .formatted(model, pods);
  }

  private static ObjectNode pod(EngineAddress address, TruthEngine engine) {
    ObjectNode pod =
        JSON.createObjectNode()
            .put("name", address.name())
            .put("url", address.url().toString())
            .put("role", address.role())
            .put("engine", "h100-Qwen2.5-7B-tp1");
    ArrayNode models = pod.putArray("models");
    engine.models().forEach(models::add);
    EventPublishing.@Nullable RankSockets told = address.named() ? null : engine.events();
    String endpoint = told == null ? address.events() : told.endpoint();
    String replay = told == null ? address.replay() : told.replay();
    if (endpoint != null) {
      ObjectNode events = pod.putObject("events").put("endpoint", endpoint);
      if (replay != null) {
        events.put("replay", replay);
      }
    }
    EngineAddress.Transfer transfer = address.transfer();
    if (transfer != null) {
      pod.putObject("kv-transfer")
          .put("dialect", transfer.dialect())
          .put("bootstrap-port", transfer.port())
          .put("engine-id", transfer.engineId());
    }
    return pod;
  }
}
