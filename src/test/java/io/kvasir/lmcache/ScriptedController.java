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

/** An LMCache controller that says what a test tells it to, on a port that stays the same when it is restarted. */
public final class ScriptedController implements AutoCloseable {
  /** The answer of a controller that knows nobody. */
  public static final String NOBODY = "{\"workers\":[],\"total_count\":0}";

  /** The bodies of the lookups that came, in their order. */
  public final List<String> lookups = new CopyOnWriteArrayList<>();

  /** How often it was asked for its workers. */
  public final AtomicInteger polls = new AtomicInteger();

  /** What it answers to whoever asks for its workers. */
  public volatile String workers = NOBODY;

  /** What it answers to lookups, without the event's id: the layout alone. */
  public volatile String layout = "{}";

  /** The status of all answers. */
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

  /** Where it is. */
  public URI address() {
    return URI.create("http://127.0.0.1:" + port);
  }

  /** A row of its workers. */
  public static String row(String instance, int rank, String ip, double registered, double beat, long keys) {
    return """
        {"instance_id":"%s","worker_id":%d,"ip":"%s","port":8001,"peer_init_url":null,"registration_time":%s,\
        "last_heartbeat_time":%s,"key_count":%d}"""
        .formatted(instance, rank, ip, registered, beat, keys);
  }

  /** Has it know these workers from now on. */
  public void knows(String... rows) {
    workers = "{\"workers\":[%s],\"total_count\":%d}".formatted(String.join(",", rows), rows.length);
  }

  /** Nobody answers there any more. */
  public void stop() {
    server.stop(0);
  }

  /** Somebody does again. */
  public void restart() throws IOException {
    server = start(port);
  }

  @Override
  public void close() {
    gate.countDown();
    server.stop(0);
  }
}
