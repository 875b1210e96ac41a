package io.kvasir.sim.transfer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Talks to other engines' {@link SideChannel}. Thread-safe; calls block. */
final class KvFetcher implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(KvFetcher.class);
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(TIMEOUT).build();

  FetchedBlocks fetch(TransferSpec.Receive leg) throws IOException {
    ObjectNode ask = request(leg).put("wait_ms", leg.timeout().toMillis());
    if (leg.engine() != null) {
      ask.put("engine", leg.engine());
    }
    if (leg.blocks() != null) {
      ask.put("blocks", leg.blocks());
    }
    JsonNode answer = post(leg, "/kv/take", ask, leg.timeout().plus(TIMEOUT));
    return new FetchedBlocks(
        JSON.convertValue(answer.path("tokens"), int[].class), JSON.convertValue(answer.path("first"), int[].class));
  }

  void sendHeartbeat(TransferSpec.Receive leg) {
    postQuietly(leg, "/kv/beat", request(leg));
  }

  void sendDone(TransferSpec.Receive leg, boolean copied) {
    postQuietly(leg, "/kv/done", request(leg).put("copied", copied));
  }

  @Override
  public void close() {
    http.shutdownNow();
  }

  private static ObjectNode request(TransferSpec.Receive leg) {
    return JsonNodeFactory.instance.objectNode().put("id", leg.id()).put("rank", leg.rank());
  }

  /** The other engine's lease makes good what it does not hear. */
  private void postQuietly(TransferSpec.Receive leg, String path, ObjectNode ask) {
    try {
      post(leg, path, ask, TIMEOUT);
    } catch (IOException e) {
      LOG.debug("{}:{} did not hear {}: {}", leg.host(), leg.port(), path, e.getMessage());
    }
  }

  private JsonNode post(TransferSpec.Receive leg, String path, ObjectNode ask, Duration limit) throws IOException {
    HttpRequest request;
    try {
      request =
          HttpRequest.newBuilder(URI.create("http://" + leg.host() + ":" + leg.port() + path))
              .timeout(limit)
              .POST(HttpRequest.BodyPublishers.ofString(ask.toString()))
              .build();
    } catch (IllegalArgumentException e) {
      throw new IOException("no such address: " + leg.host() + ":" + leg.port(), e);
    }
    try {
      HttpResponse<byte[]> response = http.send(request, HttpResponse.BodyHandlers.ofByteArray());
      JsonNode answer = JSON.readTree(response.body());
      if (response.statusCode() != 200) {
        throw new IOException(answer.path("error").asText("status " + response.statusCode()));
      }
      return answer;
    } catch (ConnectException e) {
      throw new IOException("nobody listens there", e); // the client gives no message of its own
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }
}
