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

/** A client of other engines' {@link SideChannel}. Thread-safe; calls block. */
final class KvFetcher implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(KvFetcher.class);
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(TIMEOUT).build();

  FetchedBlocks fetch(TransferSpec.Receive spec) throws IOException {
    ObjectNode body = request(spec).put("wait_ms", spec.timeout().toMillis());
    if (spec.remote().engine() != null) {
      body.put("engine", spec.remote().engine());
    }
    if (spec.remote().blocks() != null) {
      body.put("blocks", spec.remote().blocks());
    }
    JsonNode answer = post(spec.remote().host(), spec.remote().port(), "/kv/take", body, spec.timeout().plus(TIMEOUT));
    return new FetchedBlocks(
        JSON.convertValue(answer.path("tokens"), int[].class), JSON.convertValue(answer.path("first"), int[].class));
  }

  int held(TransferSpec.Pull pull, long[] keys) throws IOException {
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    body.set("keys", JSON.valueToTree(keys));
    return post(pull.host(), pull.port(), "/kv/held", body, TIMEOUT).path("blocks").asInt();
  }

  void sendHeartbeat(TransferSpec.Receive spec) {
    postQuietly(spec, "/kv/beat", request(spec));
  }

  void sendDone(TransferSpec.Receive spec, boolean copied) {
    postQuietly(spec, "/kv/done", request(spec).put("copied", copied));
  }

  @Override
  public void close() {
    http.shutdownNow();
  }

  private static ObjectNode request(TransferSpec.Receive spec) {
    return JsonNodeFactory.instance.objectNode().put("id", spec.remote().id()).put("rank", spec.remote().rank());
  }

  /** Sends without an error: the other engine's lease makes up for a lost message. */
  private void postQuietly(TransferSpec.Receive spec, String path, ObjectNode body) {
    try {
      post(spec.remote().host(), spec.remote().port(), path, body, TIMEOUT);
    } catch (IOException e) {
      LOG.debug("{}:{} did not accept {}: {}", spec.remote().host(), spec.remote().port(), path, e.getMessage());
    }
  }

  private JsonNode post(String host, int port, String path, ObjectNode body, Duration limit) throws IOException {
    HttpRequest request;
    try {
      request =
          HttpRequest.newBuilder(URI.create("http://" + host + ":" + port + path))
              .timeout(limit)
              .POST(HttpRequest.BodyPublishers.ofString(body.toString()))
              .build();
    } catch (IllegalArgumentException e) {
      throw new IOException("no such address: " + host + ":" + port, e);
    }
    try {
      HttpResponse<byte[]> response = http.send(request, HttpResponse.BodyHandlers.ofByteArray());
      JsonNode answer = JSON.readTree(response.body());
      if (response.statusCode() != 200) {
        throw new IOException(answer.path("error").asText("status " + response.statusCode()));
      }
      return answer;
    } catch (ConnectException e) {
      throw new IOException("nothing listens there", e); // the client gives no message of its own
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }
}
