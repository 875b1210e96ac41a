package io.kvasir.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Asks for streamed chat completions and measures them as their clients would. Thread-safe; calls block. */
final class TenantClient implements AutoCloseable {
  /** The one model of the load tests. */
  static final String MODEL = "kvasir-demo";

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration TIMEOUT = Duration.ofMinutes(10);
  private static final String DATA = "data: ";

  private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /** How a request ended. */
  enum End {
    /** With its whole answer. */
    COMPLETE,
    /** With an error that the router made of it: 429 or 503, as a status or within the stream. */
    REFUSED,
    /** Otherwise. */
    LOST
  }

  /**
   * A request that is over.
   *
   * @param url where it went
   * @param begun and {@code ended} in {@link System#nanoTime}
   * @param ttftMs until the first event of its answer; NaN when there was none
   * @param queuedMs of these, in the router; 0 where that is not known
   * @param reason of the router's decision; empty where that is not known
   * @param cachedTokens of the prompt, as the engine counted them
   * @param text of the answer
   * @param what went wrong, empty when it is complete
   */
  record Answer(
      String tenant,
      URI url,
      long begun,
      long ended,
      double ttftMs,
      double queuedMs,
      String reason,
      int promptTokens,
      int cachedTokens,
      int answerTokens,
      End end,
      String text,
      String what) {
    /** What the engines did for it, an answer's token counted as two of a prompt. */
    long work() {
      return promptTokens - cachedTokens + 2L * answerTokens;
    }
  }

  /** The body of a request for an answer of exactly so many tokens. */
  static ObjectNode body(int answerTokens) {
    ObjectNode body =
        JSON.createObjectNode()
            .put("model", MODEL)
            .put("max_tokens", answerTokens)
            .put("ignore_eos", true)
            .put("stream", true);
    body.putObject("stream_options").put("include_usage", true);
    return body;
  }

  /**
   * Sends a request and reads its answer to the end.
   *
   * @param key API key, which has the name of its tenant; empty to send none
   * @param headers names and values in turn
   */
  Answer ask(URI url, String key, ObjectNode body, String... headers) throws InterruptedException {
    long begun = System.nanoTime();
    HttpResponse<InputStream> response;
    try {
      HttpRequest.Builder request =
          HttpRequest.newBuilder(url)
              .header("Content-Type", "application/json")
              .timeout(TIMEOUT)
              .POST(BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)));
      if (!key.isEmpty()) {
        request.header("Authorization", "Bearer " + key);
      }
      if (headers.length > 0) {
        request.headers(headers);
      }
      response = http.send(request.build(), BodyHandlers.ofInputStream());
    } catch (IOException failed) {
      return failed(key, url, begun, End.LOST, failed.toString());
    }
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8))) {
      if (response.statusCode() != 200) {
        return failed(
            key, url, begun, isRefusal(response.statusCode()) ? End.REFUSED : End.LOST,
            response.statusCode() + " " + lines.readLine());
      }
      double queued = response.headers().firstValue("X-Router-Queued-Ms").map(Double::parseDouble).orElse(0.0);
      return read(key, url, begun, queued, response.headers().firstValue("X-Router-Reason").orElse(""), lines);
    } catch (IOException broken) {
      return failed(key, url, begun, End.LOST, broken.toString());
    }
  }

  private static Answer read(
      String key, URI url, long begun, double queuedMs, String reason, BufferedReader lines) throws IOException {
    long first = 0;
    boolean ended = false;
    StringBuilder text = new StringBuilder();
    JsonNode usage = JSON.createObjectNode();
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.equals(DATA + "[DONE]")) {
        ended = true;
      } else if (line.startsWith(DATA)) {
        JsonNode event = JSON.readTree(line.substring(DATA.length()));
        if (event.has("error")) {
          End end = isRefusal(event.at("/error/code").asInt()) || event.at("/error/type").asText().contains("overload")
              ? End.REFUSED : End.LOST;
          return failed(key, url, begun, end, event.toString());
        }
        first = first == 0 ? System.nanoTime() : first;
        text.append(event.at("/choices/0/delta/content").asText(""));
        usage = event.has("usage") && event.get("usage").isObject() ? event.get("usage") : usage;
      }
    }
    return new Answer(
        key, url, begun, System.nanoTime(), first == 0 ? Double.NaN : (first - begun) / 1e6, queuedMs, reason,
        usage.path("prompt_tokens").asInt(), usage.at("/prompt_tokens_details/cached_tokens").asInt(),
        usage.path("completion_tokens").asInt(), ended ? End.COMPLETE : End.LOST, text.toString(),
        ended ? "" : "the stream ended without [DONE]");
  }

  private static boolean isRefusal(int status) {
    return status == 429 || status == 503;
  }

  private static Answer failed(String key, URI url, long begun, End end, String what) {
    return new Answer(key, url, begun, System.nanoTime(), Double.NaN, 0, "", 0, 0, 0, end, "", what);
  }

  @Override
  public void close() {
    http.shutdownNow();
  }
}
