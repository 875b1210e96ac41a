package io.kvasir.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

/** A client of a node's management port on this machine. */
final class ManagementPort {
  private static final ObjectMapper JSON = new ObjectMapper();

  private ManagementPort() {}

  /** Waits until the node is ready and sees so many healthy workers; false when it has not come to that in time. */
  static boolean awaitHealthy(int port, int workers, Duration limit) throws InterruptedException {
    long end = System.nanoTime() + limit.toNanos();
    try (HttpClient http = HttpClient.newHttpClient()) {
      while (System.nanoTime() - end < 0) {
        try {
          if (get(http, port, "/ready").statusCode() == 200 && healthy(http, port) == workers) {
            return true;
          }
        } catch (IOException notYet) {
          // It is starting.
        }
        Thread.sleep(500);
      }
    }
    return false;
  }

  private static int healthy(HttpClient http, int port) throws IOException, InterruptedException {
    int healthy = 0;
    for (JsonNode worker : JSON.readTree(get(http, port, "/admin/workers").body()).path("workers")) {
      healthy += worker.path("health").asText().equalsIgnoreCase("healthy") ? 1 : 0;
    }
    return healthy;
  }

  private static HttpResponse<String> get(HttpClient http, int port, String path)
      throws IOException, InterruptedException {
    return http.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).timeout(Duration.ofSeconds(5)).build(),
        BodyHandlers.ofString());
  }
}
