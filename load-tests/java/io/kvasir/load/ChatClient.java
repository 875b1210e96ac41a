package io.kvasir.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A client of a router whose answers are not streamed. Thread-safe; calls block. */
final class ChatClient implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration TIMEOUT = Duration.ofMinutes(2);

  private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final URI gateway;
  private final @Nullable String key;

  /**
   * A client that has sent nothing yet.
   *
   * @param key API key; null to send none
   */
  ChatClient(URI gateway, @Nullable String key) {
    this.gateway = gateway;
    this.key = key;
  }

  /** An answer and what its headers say of how it was routed. */
  record Answer(int status, HttpHeaders headers, JsonNode body) {
    /** A header, empty where it is missing. */
    String header(String name) {
      return headers.firstValue(name).orElse("");
    }

    /** Tokens of the prompt, as the engine counted them. */
    int promptTokens() {
      JsonNode usage = body.path("usage");
      // Anthropic's leave out what was found.
      int found = usage.path("cache_read_input_tokens").asInt() + usage.path("cache_creation_input_tokens").asInt();
      return usage.path("prompt_tokens").asInt(usage.path("input_tokens").asInt() + found);
    }

    /** Those that the engine found cached, -1 where it does not say. */
    int cachedTokens() {
      JsonNode usage = body.path("usage");
      return Stream.of("/prompt_tokens_details/cached_tokens", "/input_tokens_details/cached_tokens",
              "/cache_read_input_tokens")
          .map(usage::at)
          .filter(JsonNode::isNumber)
          .mapToInt(JsonNode::asInt)
          .findFirst()
          .orElse(-1);
    }

    /** The assistant's message of a chat, for the conversation to go on. */
    JsonNode message() {
      return body.path("choices").path(0).path("message").deepCopy();
    }
  }

  /** Sends a chat. */
  Answer ask(ObjectNode body, String... headers) throws IOException, InterruptedException {
    return ask("/v1/chat/completions", body, headers);
  }

  /**
   * Sends a request.
   *
   * @param headers names and values in turn
   * @throws IOException when there is no complete answer
   */
  Answer ask(String path, ObjectNode body, String... headers) throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(gateway.resolve(path))
            .header("Content-Type", "application/json")
            .timeout(TIMEOUT)
            .POST(BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)));
    if (headers.length > 0) {
      request.headers(headers);
    }
    if (key != null) {
      request.header("Authorization", "Bearer " + key);
    }
    HttpResponse<byte[]> response = http.send(request.build(), BodyHandlers.ofByteArray());
    return new Answer(response.statusCode(), response.headers(), JSON.readTree(response.body()));
  }

  @Override
  public void close() {
    http.close();
  }
}
