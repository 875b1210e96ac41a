package io.kvasir.lmcache;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.kvasir.load.Ports;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** An LMCache controller with scripted responses, on a port that stays the same when it is restarted. */
public final class ScriptedController implements AutoCloseable {
  /** The response of a controller without workers. */
  public static final String NO_WORKERS = "{\"workers\":[],\"total_count\":0}";

  /** The bodies of the lookups received, in order. */
  public final List<String> lookups = new CopyOnWriteArrayList<>();

  /** The number of requests for its workers. */
  public final AtomicInteger polls = new AtomicInteger();

  /** The response to requests for its workers. */
  public volatile String workers = NO_WORKERS;

  /** The layout in the response to lookups. */
  public volatile String layout = "{}";

  /** The status of all responses. */
  public volatile int status = 200;

  /** Lookups wait for this. */
  public volatile CountDownLatch gate = new CountDownLatch(0);

  private HttpServer server;
  private final int port;

  /** Starts one on a free port. */
  public ScriptedController() throws IOException {
    this.port = Ports.free();
    this.server = start(port);
  }

  private HttpServer start(int at) throws IOException {
    HttpServer started = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), at), 0);
    started.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    started.createContext("/controller/workers", exchange -> {
      polls.incrementAndGet();
      answer(exchange, workers);
    });
    started.createContext("/lookup", exchange -> {
      lookups.add(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.US_ASCII));
      try {
        gate.await();
      } catch (InterruptedException stopped) {
        Thread.currentThread().interrupt();
      }
      answer(exchange, "{\"event_id\":\"e\",\"layout_info\":" + layout + "}");
    });
    started.start();
    return started;
  }

  private void answer(HttpExchange exchange, String body) throws IOException {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(status, bytes.length);
    try (exchange) {
      exchange.getResponseBody().write(bytes);
    }
  }

  /** Its address. */
  public URI address() {
    return URI.create("http://127.0.0.1:" + port);
  }

  /** A row of its list of workers. */
  public static String row(String instance, int rank, String ip, double registered, double heartbeat, long keys) {
    return """
        {"instance_id":"%s","worker_id":%d,"ip":"%s","port":8001,"peer_init_url":null,"registration_time":%s,\
        "last_heartbeat_time":%s,"key_count":%d}"""
        .formatted(instance, rank, ip, registered, heartbeat, keys);
  }

  /** Sets its list of workers. */
  public void setWorkers(String... rows) {
    workers = "{\"workers\":[%s],\"total_count\":%d}".formatted(String.join(",", rows), rows.length);
  }

  /** Stops the server. */
  public void stop() {
    server.stop(0);
  }

  /** Starts the server again. */
  public void restart() throws IOException {
    server = start(port);
  }

  @Override
  public void close() {
    gate.countDown();
    server.stop(0);
  }
}
