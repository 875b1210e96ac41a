package io.kvasir.sim;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;

/** An engine on loopback and a client to talk to it. */
abstract class EngineTest {
  static final ObjectMapper JSON = new ObjectMapper();
  static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private final List<SimEngine> engines = new ArrayList<>();

  @AfterEach
  void stop() {
    engines.forEach(SimEngine::close);
  }

  /** Settings for tests: free ports of the loopback interface, as fast as the machine can. */
  static SimSettings.Builder settings() {
    return SimSettings.builder().port(0).speed(0).events(EventSettings.DEFAULT.withLoopback()).capacityBlocks(512);
  }

  SimEngine start(SimSettings.Builder settings) throws IOException {
    SimEngine engine = SimEngine.start(settings.build());
    engines.add(engine);
    return engine;
  }

  static HttpResponse<String> post(SimEngine engine, String path, String body, String... headers)
      throws IOException, InterruptedException {
    return CLIENT.send(request(engine, path, body, headers), HttpResponse.BodyHandlers.ofString());
  }

  static HttpRequest request(SimEngine engine, String path, String body, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(engine.url().resolve(path))
            .timeout(Duration.ofSeconds(60))
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body));
    for (int i = 0; i < headers.length; i += 2) {
      request.header(headers[i], headers[i + 1]);
    }
    return request.build();
  }

  static JsonNode ask(SimEngine engine, String path, String body, String... headers)
      throws IOException, InterruptedException {
    return JSON.readTree(post(engine, path, body, headers).body());
  }

  static HttpResponse<String> get(SimEngine engine, String path) throws IOException, InterruptedException {
    return CLIENT.send(
        HttpRequest.newBuilder(engine.url().resolve(path)).timeout(Duration.ofSeconds(60)).build(),
        HttpResponse.BodyHandlers.ofString(StandardCharsets.UTF_8));
  }

  /** The JSON of every {@code data:} line but the end marker's. */
  static List<JsonNode> events(String stream) throws IOException {
    List<JsonNode> events = new ArrayList<>();
    for (String line : stream.lines().toList()) {
      if (line.startsWith("data: ") && !line.equals("data: [DONE]")) {
        events.add(JSON.readTree(line.substring("data: ".length())));
      }
    }
    return events;
  }
}
