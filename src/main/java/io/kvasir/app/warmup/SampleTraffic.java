package io.kvasir.app.warmup;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.Headers;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodRequest;
import io.kvasir.http.client.PodResponse;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Clients of gateways: conversations that share a system prompt and grow by turns, over each of the APIs, streamed and
 * whole. Thread-safe.
 */
public final class SampleTraffic implements AutoCloseable {
  private static final int CONVERSATIONS = 4;
  private static final int TURNS = 3;
  private static final int TURN_WORDS = 60;
  private static final int SYSTEM_WORDS = 80;
  /** A multiple of all the numbers by which bodies differ. */
  private static final int BODIES = 60;

  private static final int ANSWER_TOKENS = 8;
  private static final Duration TIMEOUT = Duration.ofSeconds(5);
  private static final String[] WORDS =
      "the northern lights over a quiet harbour where ferries wait and travellers ask which road is open in winter"
          .split(" ", -1);

  private final PodClient client =
      new PodClient(
          PodClient.Settings.defaults().withTimeouts(TIMEOUT, TIMEOUT, TIMEOUT),
          new Metrics(new PrometheusRegistry()),
          NanoClock.SYSTEM);
  private final Headers headers;
  /** Bodies are made once: making them would take more than sending them. */
  private final ConcurrentMap<BodyKey, byte[]> bodies = new ConcurrentHashMap<>();

  private final AtomicInteger next = new AtomicInteger();
  private final AtomicInteger answered = new AtomicInteger();
  private final AtomicInteger failed = new AtomicInteger();
  private final AtomicReference<@Nullable String> failure = new AtomicReference<>();

  private record BodyKey(String model, int number) {}

  /** The APIs, each as often as it comes in ten requests of ordinary clients. */
  private enum Api {
    CHAT("/v1/chat/completions"),
    MESSAGES("/v1/messages"),
    RESPONSES("/v1/responses"),
    COMPLETIONS("/v1/completions");

    private final String path;

    Api(String path) {
      this.path = path;
    }

    static Api of(int number) {
      return switch (number % 10) {
        case 7 -> MESSAGES;
        case 8 -> RESPONSES;
        case 9 -> COMPLETIONS;
        default -> CHAT;
      };
    }
  }

  /** Clients that have not begun; {@code key} is the API key they show, null for none. */
  public SampleTraffic(@Nullable String key) {
    Headers.Builder all = Headers.builder().add("Content-Type", "application/json").add("Accept", "*/*");
    this.headers = (key == null ? all : all.add("Authorization", "Bearer " + key)).build();
  }

  /**
   * Has so many clients at a time send requests by the entrances in turn, each when its last was answered, until so
   * many requests were sent or the time is over.
   *
   * @throws InterruptedException when interrupted, with the clients
   */
  public void send(List<Entrance> entrances, List<String> models, int clients, int requests, Duration longest)
      throws InterruptedException {
    long end = System.nanoTime() + longest.toNanos();
    List<Thread> threads = new ArrayList<>();
    try {
      for (int i = 0; i < clients; i++) {
        threads.add(
            Thread.ofVirtual().name("kvasir-warm-up-client-", i).start(() -> {
              for (int number = next.getAndIncrement();
                  number < requests && System.nanoTime() - end < 0 && !Thread.currentThread().isInterrupted();
                  number = next.getAndIncrement()) {
                post(entrances.get(number % entrances.size()), models.get(number % models.size()), number);
              }
            }));
      }
      for (Thread thread : threads) {
        thread.join();
      }
    } catch (InterruptedException stopped) {
      threads.forEach(Thread::interrupt);
      throw stopped;
    }
  }

  /** What an operator's tools read of a management port. */
  public void observe(URI management) {
    for (String path : List.of("/ready", "/metrics")) {
      check(path, answer(new PodRequest(management, "GET", path, headers, new byte[0])));
    }
  }

  /** How many requests were answered, with whatever status. */
  public int answered() {
    return answered.get();
  }

  /** How many of these were not answered as they should be. */
  public int failed() {
    return failed.get();
  }

  /** Why the first of these failed, null when none did. */
  public @Nullable String failure() {
    return failure.get();
  }

  @Override
  public void close() {
    client.close();
  }

  /** The listener of a router's gateway. */
  public Entrance gateway(URI url) {
    return (path, body) -> answer(new PodRequest(url, "POST", path, headers, body));
  }

  private void post(Entrance entrance, String model, int number) {
    Api api = Api.of(number);
    byte[] body =
        bodies.computeIfAbsent(
            new BodyKey(model, number % BODIES),
            key -> body(api, model, key.number()).toString().getBytes(StandardCharsets.UTF_8));
    check(api.path, entrance.post(api.path, body));
    answered.incrementAndGet();
  }

  /** Why a request failed, null when it did not. */
  private @Nullable String answer(PodRequest request) {
    byte[] buffer = new byte[4096];
    try (PodResponse response = client.call(request).send()) {
      int read = 0;
      while (read >= 0) {
        read = response.read(buffer, 0, buffer.length);
      }
      return response.status() == 200 ? null : "answered with " + response.status();
    } catch (PodException failed) {
      return failed.getMessage();
    }
  }

  /** What an interrupted client does not finish is no failure. */
  private void check(String path, @Nullable String why) {
    if (why != null && !Thread.currentThread().isInterrupted()) {
      failed.incrementAndGet();
      failure.compareAndSet(null, path + ": " + why);
    }
  }

  private static ObjectNode body(Api api, String model, int number) {
    int conversation = number % CONVERSATIONS;
    int turns = 1 + number / CONVERSATIONS % TURNS;
    ObjectNode body = JsonNodeFactory.instance.objectNode().put("model", model);
    body.put("stream", number % 4 == 1 || number % 4 == 2);
    switch (api) {
      case CHAT -> {
        body.put("max_tokens", ANSWER_TOKENS).put("temperature", 0.7);
        ArrayNode messages = body.putArray("messages");
        messages.addObject().put("role", "system").put("content", words(0, SYSTEM_WORDS));
        messages.addAll(messages(conversation, turns));
      }
      case MESSAGES -> {
        body.put("max_tokens", ANSWER_TOKENS).put("system", words(0, SYSTEM_WORDS));
        body.putArray("messages").addAll(messages(conversation, turns));
      }
      case RESPONSES -> {
        body.put("max_output_tokens", ANSWER_TOKENS).put("store", false).put("instructions", words(0, SYSTEM_WORDS));
        body.putArray("input").addAll(messages(conversation, turns));
      }
      case COMPLETIONS -> body.put("max_tokens", ANSWER_TOKENS).put("prompt", words(conversation, SYSTEM_WORDS));
    }
    return body;
  }

  private static List<JsonNode> messages(int conversation, int turns) {
    List<JsonNode> messages = new ArrayList<>();
    for (int turn = 0; turn < turns; turn++) {
      if (turn > 0) {
        messages.add(message("assistant", words(conversation * 31 + turn, ANSWER_TOKENS)));
      }
      messages.add(message("user", words(1000 + conversation * TURNS + turn, TURN_WORDS)));
    }
    return messages;
  }

  private static ObjectNode message(String role, String text) {
    return JsonNodeFactory.instance.objectNode().put("role", role).put("content", text);
  }

  /** Words that look like a text, the same for the same seed. */
  private static String words(int seed, int count) {
    SplittableRandom random = new SplittableRandom(seed);
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < count; i++) {
      text.append(WORDS[random.nextInt(WORDS.length)]).append(i % 12 == 11 ? ". " : " ");
    }
    return text.toString().strip();
  }
}
