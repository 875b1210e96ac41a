package io.kvasir.discovery;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import io.kvasir.app.Certificates;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/** An API server that lists pods and watches them over HTTPS, with the faults that real ones have. */
final class FakeKubernetes implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String CUT = "";

  final AtomicInteger lists = new AtomicInteger();
  volatile String token = "secret";
  private final SSLContext tls;
  private final Map<String, ObjectNode> pods = new TreeMap<>();
  private final List<BlockingQueue<String>> watches = new CopyOnWriteArrayList<>();
  private HttpsServer server;

  FakeKubernetes(Certificates made) throws Exception {
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(made.store(), Certificates.password());
    tls = SSLContext.getInstance("TLS");
    tls.init(keys.getKeyManagers(), null, null);
    server = start(0);
  }

  URI url() {
    return URI.create("https://127.0.0.1:" + server.getAddress().getPort());
  }

  /** Adds or changes a pod, and notifies the watches. */
  void put(String pod) throws IOException {
    ObjectNode node = (ObjectNode) JSON.readTree(pod);
    String name = node.at("/metadata/name").asText();
    boolean known;
    synchronized (pods) {
      known = pods.put(name, node) != null;
    }
    notifyWatches(known ? "MODIFIED" : "ADDED", node);
  }

  void delete(String name) {
    synchronized (pods) {
      ObjectNode removed = pods.remove(name);
      if (removed != null) {
        notifyWatches("DELETED", removed);
      }
    }
  }

  /** Deletes a pod without notifying the watches. */
  void loseDelete(String name) {
    synchronized (pods) {
      pods.remove(name);
    }
  }

  /** Ends every watch because its version is too old. */
  void expire() {
    ObjectNode status = JSON.createObjectNode().put("kind", "Status").put("code", 410).put("message", "too old");
    notifyWatches("ERROR", status);
    cut();
  }

  /** Cuts every watch in the middle. */
  void cut() {
    watches.forEach(watch -> watch.add(CUT));
  }

  int watches() {
    return watches.size();
  }

  void stop() {
    cut();
    server.stop(0);
  }

  void restart() throws IOException {
    server = start(server.getAddress().getPort());
  }

  @Override
  public void close() {
    stop();
  }

  private void notifyWatches(String type, ObjectNode object) {
    String line = JSON.createObjectNode().put("type", type).set("object", object).toString();
    watches.forEach(watch -> watch.add(line));
  }

  private HttpsServer start(int port) throws IOException {
    HttpsServer started = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 50);
    started.setHttpsConfigurator(new HttpsConfigurator(tls));
    started.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    started.createContext("/api/v1/namespaces/engines/pods", this::handle);
    started.start();
    return started;
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      String query = exchange.getRequestURI().getQuery();
      if (!("Bearer " + token).equals(exchange.getRequestHeaders().getFirst("Authorization"))
          || !query.contains("labelSelector=app=vllm")) {
        byte[] refusal = "{\"kind\":\"Status\",\"message\":\"pods is forbidden\"}".getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(403, refusal.length);
        exchange.getResponseBody().write(refusal);
      } else if (query.contains("watch=1")) {
        watch(exchange);
      } else {
        list(exchange, query.contains("continue=next"));
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  /** In two pages. */
  private void list(HttpExchange exchange, boolean second) throws IOException {
    ObjectNode body = JSON.createObjectNode();
    body.putObject("metadata").put("resourceVersion", "7").put("continue", second ? "" : "next");
    var items = body.putArray("items");
    synchronized (pods) {
      List<ObjectNode> all = List.copyOf(pods.values());
      int half = all.size() / 2;
      (second ? all.subList(half, all.size()) : all.subList(0, half)).forEach(items::add);
    }
    byte[] bytes = body.toString().getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(200, bytes.length);
    exchange.getResponseBody().write(bytes);
    if (second) {
      lists.incrementAndGet();
    }
  }

  private void watch(HttpExchange exchange) throws IOException, InterruptedException {
    String seconds = exchange.getRequestURI().getQuery().replaceFirst(".*timeoutSeconds=", "");
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.parseLong(seconds));
    BlockingQueue<String> events = new LinkedBlockingQueue<>();
    exchange.sendResponseHeaders(200, 0);
    OutputStream out = exchange.getResponseBody();
    out.flush();
    watches.add(events);
    try {
      while (true) {
        String line = events.poll(end - System.nanoTime(), TimeUnit.NANOSECONDS);
        if (line == null || line.equals(CUT)) {
          return;
        }
        out.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
      }
    } finally {
      watches.remove(events);
    }
  }
}
