package io.kvasir.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
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
import java.util.Collection;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Conversations with long histories that share nothing with each other: about nine tenths of every prompt were in the
 * one before, and between two turns there is time to think. Answers are streamed. Thread-safe.
 */
final class LongSessions implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String DATA = "data: ";
  private static final int TURNS = 24;
  private static final int FIRST_TEXT = 17_000;
  private static final int TURN_TEXT = 900;
  private static final int ANSWER_TOKENS = 32;

  private final URI chat;
  private final int requests;
  private final Duration think;
  private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final ExecutorService sessions = Executors.newVirtualThreadPerTaskExecutor();
  private final Collection<Request> ended = new ConcurrentLinkedQueue<>();
  private final AtomicInteger begun = new AtomicInteger();

  /**
   * A request that is over.
   *
   * @param firstTokenMillis until the first token came, or the failure
   * @param reason the router's, for its choice
   * @param reused tokens of the prompt that were in the conversation's last prompt or answer
   * @param error empty when it is complete
   */
  record Request(
      double firstTokenMillis, String reason, long promptTokens, long cachedTokens, long reused, String error) {
    boolean failed() {
      return !error.isEmpty();
    }
  }

  /** A whole answer, and its tokens together with its prompt's. */
  private record AssistantTurn(String text, long tokens) {}

  /** Starts {@code count} conversations at a time, until {@code requests} requests have begun. */
  LongSessions(URI chat, int count, int requests, Duration think) {
    this.chat = chat;
    this.requests = requests;
    this.think = think;
    for (int i = 0; i < count; i++) {
      int seed = i;
      sessions.execute(() -> converse(seed));
    }
    sessions.shutdown();
  }

  /** Waits at most this long for the end; returns whether it has come. */
  boolean awaitEnd(Duration atMost) throws InterruptedException {
    return sessions.awaitTermination(atMost.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** What has ended until now. */
  List<Request> ended() {
    return List.copyOf(ended);
  }

  @Override
  public void close() {
    sessions.shutdownNow();
    http.close();
  }

  private void converse(int seed) {
    Random random = new Random(seed);
    int begin = random.nextInt(TURNS); // so that conversations do not begin all at once, now and later
    try {
      TimeUnit.NANOSECONDS.sleep((long) (random.nextDouble() * 2 * think.toNanos()));
      while (true) {
        ArrayNode messages = JSON.createArrayNode();
        String first = Words.text(random, FIRST_TEXT + begin * TURN_TEXT);
        messages.addObject().put("role", "user").put("content", first);
        long known = 0;
        for (int turn = begin; turn < TURNS; turn++) {
          if (begun.incrementAndGet() > requests) {
            return;
          }
          AssistantTurn answer = send(messages, known);
          if (answer == null) {
            break;
          }
          known = answer.tokens();
          messages.addObject().put("role", "assistant").put("content", answer.text());
          messages.addObject().put("role", "user").put("content", Words.text(random, TURN_TEXT));
          TimeUnit.NANOSECONDS.sleep((long) (-Math.log(1 - random.nextDouble()) * think.toNanos()));
        }
        begin = 0;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private @Nullable AssistantTurn send(ArrayNode messages, long known) throws InterruptedException {
    ObjectNode body =
        JSON.createObjectNode()
            .put("model", "kvasir-demo")
            .put("max_tokens", ANSWER_TOKENS)
            .put("ignore_eos", true)
            .put("stream", true);
    body.putObject("stream_options").put("include_usage", true);
    body.set("messages", messages);
    long from = System.nanoTime();
    try {
      HttpRequest request =
          HttpRequest.newBuilder(chat)
              .header("Content-Type", "application/json")
              .timeout(Duration.ofMinutes(2))
              .POST(BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)))
              .build();
      HttpResponse<InputStream> response = http.send(request, BodyHandlers.ofInputStream());
      try (InputStream stream = response.body()) {
        if (response.statusCode() != 200) {
          String error = new String(stream.readAllBytes(), StandardCharsets.UTF_8);
          ended.add(failed(from, response.statusCode() + " " + error));
          return null;
        }
        return read(stream, response.headers().firstValue("X-Router-Reason").orElse(""), from, known);
      }
    } catch (IOException e) {
      ended.add(failed(from, e.toString()));
      return null;
    }
  }

  private AssistantTurn read(InputStream stream, String reason, long from, long known) throws IOException {
    StringBuilder text = new StringBuilder();
    double firstToken = -1;
    JsonNode usage = JSON.createObjectNode();
    boolean done = false;
    BufferedReader lines = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.equals(DATA + "[DONE]")) {
        done = true;
      } else if (line.startsWith(DATA)) {
        JsonNode event = JSON.readTree(line.substring(DATA.length()));
        String piece = event.at("/choices/0/delta/content").asText("");
        if (firstToken < 0 && !piece.isEmpty()) {
          firstToken = millisSince(from);
        }
        text.append(piece);
        usage = event.path("usage").isObject() ? event.path("usage") : usage;
      }
    }
    if (!done || firstToken < 0) {
      throw new IOException("the stream ended early: " + text);
    }
    long prompt = usage.path("prompt_tokens").asLong();
    long cached = usage.at("/prompt_tokens_details/cached_tokens").asLong();
    ended.add(new Request(firstToken, reason, prompt, cached, Math.min(known, prompt), ""));
    return new AssistantTurn(text.toString(), usage.path("total_tokens").asLong());
  }

  private static Request failed(long from, String error) {
    return new Request(millisSince(from), "", 0, 0, 0, error);
  }

  private static double millisSince(long nanos) {
    return (System.nanoTime() - nanos) / 1e6;
  }
}
