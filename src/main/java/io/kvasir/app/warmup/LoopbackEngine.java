package io.kvasir.app.warmup;

import io.kvasir.sim.http.SimHttpExchange;
import io.kvasir.sim.http.SimHttpLimits;
import io.kvasir.sim.http.SimHttpServer;
import io.kvasir.sim.publisher.CacheEvent;
import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.publisher.EventPublisher;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * An engine that computes nothing and has no model: each API has one answer, whole or streamed, and a hundred times a
 * second a batch of cache events is published, of blocks that no prompt has. Thread-safe.
 */
public final class LoopbackEngine implements AutoCloseable {
  private static final Duration PAUSE = Duration.ofMillis(10);
  private static final int MAX_BODY = 1 << 20;
  private static final int EVENTS = 8;
  private static final int BLOCK_SIZE = 16;
  private static final int BLOCKS = 8;
  private static final String GPU = "GPU";
  private static final String USAGE =
      "\"usage\":{\"prompt_tokens\":90,\"completion_tokens\":8,\"total_tokens\":98,"
          + "\"prompt_tokens_details\":{\"cached_tokens\":64}}";
  private static final String CHUNK =
      "data: {\"id\":\"chatcmpl-0\",\"object\":\"chat.completion.chunk\",\"created\":1790000000,\"model\":\"m\",";

  /** The answers of each path, made once: making them would take more than sending them. */
  private static final Map<String, Answer> ANSWERS =
      Stream.of("/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/completions")
          .collect(Collectors.toUnmodifiableMap(Function.identity(), Answer::of));

  private final SimHttpServer server;
  private final EventPublisher publisher;
  private final CountDownLatch ended = new CountDownLatch(1);

  private record Answer(byte[] whole, List<String> streamed) {
    static Answer of(String path) {
      return new Answer(LoopbackEngine.whole(path).getBytes(StandardCharsets.UTF_8), LoopbackEngine.streamed(path));
    }
  }

  /**
   * Starts on free ports of the loopback interface.
   *
   * @throws IOException when the machine gives none
   */
  public LoopbackEngine() throws IOException {
    this.publisher =
        new EventPublisher(
            new EventPublisher.Binding("127.0.0.1", 0, null, true, 0, "", true, 16, false), EventFormat.VLLM, 0,
            "kvasir-warm-up-replay");
    try {
      this.server =
          new SimHttpServer(
              new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
              new SimHttpLimits(MAX_BODY, Duration.ofMinutes(1)),
              LoopbackEngine::answer);
    } catch (IOException taken) {
      publisher.close();
      throw taken;
    }
    Thread.ofPlatform().daemon().name("kvasir-warm-up-events").start(this::publish);
  }

  /** Where it answers. */
  public URI url() {
    return URI.create("http://127.0.0.1:" + server.port());
  }

  /** Where its events are published. */
  public String eventsEndpoint() {
    return "tcp://127.0.0.1:" + publisher.eventsPort();
  }

  /** Where they can be had again. */
  public String replayEndpoint() {
    return "tcp://127.0.0.1:" + publisher.replayPort();
  }

  @Override
  public void close() {
    ended.countDown();
    server.close();
  }

  /** Stores a sequence of blocks, and takes it back in the next batch. The sockets are this thread's own. */
  private void publish() {
    try (publisher) {
      int[] tokens = LongStream.range(0, BLOCKS * BLOCK_SIZE).mapToInt(token -> (int) token).toArray();
      // Sockets that are interrupted fail, and are not closed.
      for (long batch = 0; !ended.await(PAUSE.toMillis(), TimeUnit.MILLISECONDS); batch++) {
        long first = batch / 2 * BLOCKS + 1;
        long[] keys = LongStream.range(first, first + BLOCKS).toArray();
        tokens[0] = (int) (batch / 2 % 1024);
        CacheEvent event =
            batch % 2 == 0
                ? new CacheEvent.Stored(null, keys, tokens.clone(), BLOCK_SIZE, null, null, GPU)
                : new CacheEvent.Removed(keys, GPU);
        publisher.publish(Instant.now().toEpochMilli() / 1000.0, List.of(event));
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private static void answer(SimHttpExchange exchange) throws IOException {
    Answer answer = ANSWERS.get(exchange.path());
    if (answer == null) {
      exchange.reply(exchange.method().equals("GET") ? 200 : 404, "text/plain", new byte[0]);
      return;
    }
    if (!new String(exchange.body(), StandardCharsets.ISO_8859_1).contains("\"stream\":true")) {
      exchange.reply(200, "application/json", answer.whole());
      return;
    }
    exchange.start(200, "text/event-stream; charset=utf-8");
    for (String event : answer.streamed()) {
      exchange.send(event);
    }
    exchange.end();
  }

  /** The answer of a path, not streamed. */
  static String whole(String path) {
    return switch (path) {
      case "/v1/messages" ->
          "{\"id\":\"msg_0\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\","
              + "\"content\":[{\"type\":\"text\","
              + "\"text\":\"It is open.\"}],\"stop_reason\":\"end_turn\",\"stop_sequence\":null,"
              + "\"usage\":{\"input_tokens\":26,\"cache_read_input_tokens\":64,\"output_tokens\":8}}";
      case "/v1/responses" ->
          "{\"id\":\"resp_0\",\"object\":\"response\",\"created_at\":1790000000,\"status\":\"completed\","
              + "\"model\":\"m\",\"output\":[{\"type\":\"message\",\"id\":\"msg_0\","
              + "\"status\":\"completed\",\"role\":\"assistant\","
              + "\"content\":[{\"type\":\"output_text\",\"text\":\"It is open.\",\"annotations\":[]}]}],"
              + "\"usage\":{\"input_tokens\":90,\"input_tokens_details\":{\"cached_tokens\":64},"
              + "\"output_tokens\":8,\"total_tokens\":98}}";
      case "/v1/completions" ->
          "{\"id\":\"cmpl-0\",\"object\":\"text_completion\",\"created\":1790000000,\"model\":\"m\",\"choices\":"
              + "[{\"index\":0,\"text\":\"It is open.\",\"finish_reason\":\"stop\"}]," + USAGE + "}";
      default ->
          "{\"id\":\"chatcmpl-0\",\"object\":\"chat.completion\",\"created\":1790000000,\"model\":\"m\",\"choices\":"
              + "[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"It is open.\"},\"logprobs\":null,"
              + "\"finish_reason\":\"stop\"}]," + USAGE + "}";
    };
  }

  private static List<String> streamed(String path) {
    List<String> events = new ArrayList<>();
    switch (path) {
      case "/v1/messages" -> {
        events.add(
            "event: message_start\ndata: {\"type\":\"message_start\","
                + "\"message\":{\"id\":\"msg_0\",\"type\":\"message\","
                + "\"role\":\"assistant\",\"content\":[],\"model\":\"m\",\"usage\":{\"input_tokens\":26,"
                + "\"cache_read_input_tokens\":64,\"output_tokens\":0}}}\n\n");
        for (int i = 0; i < EVENTS; i++) {
          events.add(
              "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
                  + "\"text_delta\",\"text\":\" open\"}}\n\n");
        }
        events.add(
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},"
                + "\"usage\":{\"output_tokens\":8}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
      }
      case "/v1/responses" -> {
        for (int i = 0; i < EVENTS; i++) {
          events.add(
              String.format(
                  Locale.ROOT,
                  "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\","
                      + "\"sequence_number\":%d,\"item_id\":\"msg_0\",\"output_index\":0,\"content_index\":0,"
                      + "\"delta\":\" open\"}\n\n",
                  i));
        }
        events.add(
            "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":9,\"response\":"
                + whole(path) + "}\n\n");
      }
      default -> {
        String delta =
            path.equals("/v1/completions")
                ? "\"choices\":[{\"index\":0,\"text\":\" open\",\"finish_reason\":null}]}\n\n"
                : "\"choices\":[{\"index\":0,\"delta\":{\"content\":\" open\"},\"logprobs\":null,"
                    + "\"finish_reason\":null}]}\n\n";
        for (int i = 0; i < EVENTS; i++) {
          events.add(CHUNK + delta);
        }
        events.add(CHUNK + "\"choices\":[]," + USAGE + "}\n\ndata: [DONE]\n\n");
      }
    }
    return events;
  }
}
