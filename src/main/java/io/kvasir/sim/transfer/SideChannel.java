package io.kvasir.sim.transfer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.http.SimHttpExchange;
import io.kvasir.sim.http.SimHttpLimits;
import io.kvasir.sim.http.SimHttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The server from which other engines fetch blocks: NIXL's side channel, Mooncake's and SGLang's bootstrap server. The
 * real ones' own protocols are JSON over HTTP between simulated engines ({@link KvFetcher} is the client); the pages
 * that routers read are as the real ones'. Thread-safe.
 */
final class SideChannel implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration IDLE = Duration.ofSeconds(60);
  private static final int MAX_BODY_BYTES = 1 << 20;

  private final SimHttpServer server;
  private final CountDownLatch ready = new CountDownLatch(1);
  private volatile @Nullable Backend backend;

  /** Set after the port is bound, since the engine's own address contains it. */
  private record Backend(KvLeases leases, KvConnector connector, LocalEngine localEngine, PeerMemory memory) {}

  SideChannel(String host, int port) throws IOException {
    try {
      server =
          new SimHttpServer(new InetSocketAddress(host, port), new SimHttpLimits(MAX_BODY_BYTES, IDLE),
              this::handle);
    } catch (IOException taken) {
      throw new IOException("transfer-port " + port + ": " + taken.getMessage(), taken);
    }
  }

  int port() {
    return server.port();
  }

  void serve(KvLeases leases, KvConnector connector, LocalEngine localEngine, PeerMemory memory) {
    backend = new Backend(leases, connector, localEngine, memory);
    ready.countDown();
  }

  @Override
  public void close() {
    server.close();
  }

  private void handle(SimHttpExchange exchange) throws IOException {
    try {
      ready.await();
      Backend current = backend;
      if (current != null) {
        answer(exchange, current);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void answer(SimHttpExchange exchange, Backend backend) throws IOException, InterruptedException {
    if (exchange.method().equals("GET")) {
      JsonNode page = backend.connector.page(exchange.path(), backend.localEngine);
      if (page == null) {
        reply(exchange, exchange.path().equals("/health") ? 200 : 404, JsonNodeFactory.instance.objectNode());
      } else {
        reply(exchange, 200, page);
      }
      return;
    }
    JsonNode request = JSON.readTree(exchange.body());
    if (exchange.path().equals("/kv/held")) {
      long[] keys = JSON.convertValue(request.path("keys"), long[].class);
      reply(exchange, 200, JsonNodeFactory.instance.objectNode().put("blocks", backend.memory.held(keys).join()));
      return;
    }
    String key =
        backend.connector.key(request.path("id").asText(), request.path("rank").asInt(-1), backend.localEngine);
    switch (exchange.path()) {
      case "/kv/take" -> take(exchange, request, key, backend);
      case "/kv/beat" -> {
        backend.leases.renew(key);
        reply(exchange, 200, JsonNodeFactory.instance.objectNode());
      }
      case "/kv/done" -> {
        backend.leases.release(key, request.path("copied").asBoolean());
        reply(exchange, 200, JsonNodeFactory.instance.objectNode());
      }
      default -> reply(exchange, 404, JsonNodeFactory.instance.objectNode());
    }
  }

  private static void take(SimHttpExchange exchange, JsonNode request, String key, Backend backend)
      throws IOException, InterruptedException {
    String engine = request.path("engine").asText("");
    if (!engine.isEmpty() && !backend.localEngine.engineIds().contains(engine)) {
      error(exchange, 409, "handshake failed: engine " + engine + " is not served (any more)");
      return;
    }
    long wait = request.path("wait_ms").asLong();
    CompletableFuture<LeasedBlocks> blocks = backend.leases.take(key, wait > 0);
    if (blocks == null) {
      error(exchange, 410, "nothing is kept under " + request.path("id") + ": fetched, expired or never there");
      return;
    }
    CompletableFuture<Void> closed = new CompletableFuture<>();
    exchange.onCancelled(() -> closed.complete(null));
    try {
      CompletableFuture.anyOf(blocks, closed).get(Math.max(1, wait), TimeUnit.MILLISECONDS);
    } catch (TimeoutException | ExecutionException e) {
      backend.leases.abandon(key);
      error(exchange, 408, "the other leg did not come within " + wait + " ms");
      return;
    }
    if (!blocks.isDone()) {
      backend.leases.abandon(key);
      throw new IOException("The receiver closed its connection");
    }
    replyBlocks(exchange, blocks.join(), request.path("blocks").asText(""));
  }

  private static void replyBlocks(SimHttpExchange exchange, LeasedBlocks held, String blocks) throws IOException {
    if (!isStartOf(blocks, held.blocks())) {
      error(exchange, 409, "block ids " + blocks + " are not those that are kept");
      return;
    }
    ObjectNode answer = JsonNodeFactory.instance.objectNode();
    answer.set("tokens", JSON.valueToTree(held.tokens()));
    answer.set("first", JSON.valueToTree(held.firstTokens()));
    reply(exchange, 200, answer);
  }

  private static boolean isStartOf(String request, int[] held) {
    String[] ids = request.replaceAll("[\\[\\]\\s]", "").split(",", -1);
    for (int i = 0; i < ids.length && !request.isEmpty(); i++) {
      if (i >= held.length || !ids[i].equals(Integer.toString(held[i]))) {
        return false;
      }
    }
    return true;
  }

  private static void error(SimHttpExchange exchange, int status, String message) throws IOException {
    reply(exchange, status, JsonNodeFactory.instance.objectNode().put("error", message));
  }

  private static void reply(SimHttpExchange exchange, int status, JsonNode body) throws IOException {
    exchange.reply(status, "application/json", body.toString().getBytes(StandardCharsets.UTF_8));
  }
}
