package io.kvasir.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/**
 * Conversations that reuse about nine tenths of their prompts, each on one router node as long as that is open and on
 * the next one after that, as behind a load balancer. Every request and what became of it is kept. Thread-safe.
 */
final class NodeLoad implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int TURNS = 24;
  private static final int FIRST_TEXT = 3000;
  private static final int TURN_TEXT = 250;
  private static final int ANSWER_TOKENS = 16;

  private final RouterNodes nodes;
  private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final ExecutorService sessions = Executors.newVirtualThreadPerTaskExecutor();
  private final Collection<Request> requests = new ConcurrentLinkedQueue<>();
  private volatile boolean ending;

  /** How a request ended. */
  enum End {
    /** With its complete answer. */
    COMPLETE,
    /** Otherwise, on a node that had been killed, cut off or stopped: its client tries another. */
    ON_DEAD_NODE,
    /** Otherwise, on a living node. */
    LOST
  }

  /**
   * A request that is over.
   *
   * @param begun and {@code ended} in {@link System#nanoTime}
   * @param fallback whether it was routed without the cell's home
   * @param exact whether exactly as much was cached as the router had predicted
   * @param partitioned whether the node it was sent to was cut off from the others
   * @param what went wrong, empty when it is complete
   */
  record Request(
      long begun,
      long ended,
      End end,
      boolean fallback,
      long promptTokens,
      long cachedTokens,
      boolean exact,
      boolean partitioned,
      String what) {
    double millis() {
      return (ended - begun) / 1e6;
    }
  }

  NodeLoad(RouterNodes nodes, int count) {
    this.nodes = nodes;
    for (int i = 0; i < count; i++) {
      int seed = i;
      sessions.execute(() -> converse(seed));
    }
  }

  /** What has ended until now. */
  List<Request> requests() {
    return List.copyOf(requests);
  }

  /** Lets every request under way end. */
  @Override
  public void close() {
    ending = true;
    sessions.close();
    http.close();
  }

  private void converse(int seed) {
    Random random = new Random(seed);
    int begin = random.nextInt(TURNS); // so that conversations do not begin all at once, now and later
    while (!ending) {
      ArrayNode messages = JSON.createArrayNode();
      messages.addObject().put("role", "user").put("content", Words.text(random, FIRST_TEXT + begin * TURN_TEXT));
      for (int turn = begin; turn < TURNS && !ending; turn++) {
        JsonNode answer = send(seed, messages);
        if (answer != null) {
          messages.add(answer);
        }
        messages.addObject().put("role", "user").put("content", Words.text(random, TURN_TEXT));
      }
      begin = 0;
    }
  }

  /** Sends a request until there is a complete answer; null when there is none for longer than a client would try. */
  private @Nullable JsonNode send(int session, ArrayNode messages) {
    ObjectNode body =
        JSON.createObjectNode().put("model", "kvasir-demo").put("max_tokens", ANSWER_TOKENS);
    body.set("messages", messages);
    for (int tries = 0; tries < 10 && !Thread.currentThread().isInterrupted(); tries++) {
      RouterNodes.Node node = node(session + tries);
      if (node == null) {
        pause();
        continue;
      }
      JsonNode answer = send(node, body);
      if (answer != null) {
        return answer;
      }
      pause();
    }
    return null;
  }

  private RouterNodes.@Nullable Node node(int preferred) {
    List<RouterNodes.Node> all = nodes.all();
    for (int i = 0; i < all.size(); i++) {
      RouterNodes.Node node = all.get((preferred + i) % all.size());
      if (node.isOpen()) {
        return node;
      }
    }
    return null;
  }

  private @Nullable JsonNode send(RouterNodes.Node node, ObjectNode body) {
    long begun = System.nanoTime();
    boolean cut = node.isPartitioned();
    try {
      HttpRequest request =
          HttpRequest.newBuilder(node.gateway("/v1/chat/completions"))
              .header("Content-Type", "application/json")
              .timeout(Duration.ofSeconds(60))
              .POST(BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)))
              .build();
      HttpResponse<byte[]> response = http.send(request, BodyHandlers.ofByteArray());
      JsonNode answer = JSON.readTree(response.body());
      JsonNode message = answer.at("/choices/0/message");
      if (response.statusCode() != 200 || !message.isObject()) {
        failed(node, begun, response.statusCode() + " " + answer);
        return null;
      }
      JsonNode usage = answer.path("usage");
      String reason = response.headers().firstValue("X-Router-Reason").orElse("");
      long cached = usage.at("/prompt_tokens_details/cached_tokens").asLong();
      requests.add(
          new Request(
              begun,
              System.nanoTime(),
              End.COMPLETE,
              reason.startsWith("fallback"),
              usage.path("prompt_tokens").asLong(),
              cached,
              reason.contains("cached=" + cached + "/"),
              cut,
              ""));
      return message;
    } catch (IOException e) {
      failed(node, begun, e.toString());
      return null;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    }
  }

  private void failed(RouterNodes.Node node, long begun, String what) {
    End end = node.isOpen() && !node.isPartitioned() ? End.LOST : End.ON_DEAD_NODE;
    requests.add(
        new Request(
            begun, System.nanoTime(), end, false, 0, 0, false, node.isPartitioned(),
            "node " + node.number() + ": " + what));
  }

  private static void pause() {
    try {
      Thread.sleep(20);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
