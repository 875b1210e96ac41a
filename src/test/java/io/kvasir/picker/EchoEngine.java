package io.kvasir.picker;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * An engine that answers with what it got: method, path, headers and body. To a request with {@code "stream":true} it
 * sends so many events as {@code "n"} says, each with the request's model; with {@code "hold":true} it keeps the last
 * one back until it is released.
 */
final class EchoEngine implements AutoCloseable {
  private final HttpServer server;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final CountDownLatch released = new CountDownLatch(1);

  EchoEngine() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 256);
    server.createContext("/", this::answer);
    server.setExecutor(threads);
    server.start();
  }

  int port() {
    return server.getAddress().getPort();
  }

  URI url() {
    return URI.create("http://127.0.0.1:" + port());
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
      exchange.getResponseHeaders().set("x-served-by", Integer.toString(port()));
      if (body.contains("\"stream\":true")) {
        events(exchange, body);
        return;
      }
      ObjectNode answer = JsonNodeFactory.instance.objectNode().put("id", "echo").put("model", field(body, "model"));
      answer.put("method", exchange.getRequestMethod()).put("path", exchange.getRequestURI().toString());
      ObjectNode headers = answer.putObject("headers");
      exchange.getRequestHeaders()
          .forEach((name, values) -> headers.put(name.toLowerCase(Locale.ROOT), String.join(",", values)));
      answer.put("length", body.length()).put("hash", body.hashCode());
      byte[] bytes = answer.toString().getBytes(StandardCharsets.UTF_8);
      exchange.getResponseHeaders().set("content-type", "application/json");
      exchange.sendResponseHeaders(200, bytes.length);
      exchange.getResponseBody().write(bytes);
    }
  }

  private void events(HttpExchange exchange, String body) throws IOException {
    exchange.getResponseHeaders().set("content-type", "text/event-stream");
    exchange.sendResponseHeaders(200, 0);
    OutputStream out = exchange.getResponseBody();
    String model = field(body, "model");
    int events = Integer.parseInt("0" + field(body, "n"));
    for (int i = 0; i < events; i++) {
      String event =
          "data: {\"id\":\"e\",\"model\":\"%s\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%d\"}}]}\n\n"
              .formatted(model, i);
      byte[] bytes = event.getBytes(StandardCharsets.UTF_8);
      // Pieces end within the name, too.
      out.write(bytes, 0, 25);
      out.flush();
      out.write(bytes, 25, bytes.length - 25);
      out.flush();
    }
    if (body.contains("\"hold\":true")) {
      try {
        released.await();
      } catch (InterruptedException stopping) {
        Thread.currentThread().interrupt();
      }
    }
    out.write("data: [DONE]\n\n".getBytes(StandardCharsets.UTF_8));
  }

  private static String field(String body, String name) {
    int at = body.indexOf("\"" + name + "\":");
    if (at < 0) {
      return "";
    }
    String rest = body.substring(at + name.length() + 3);
    return rest.startsWith("\"") ? rest.substring(1, rest.indexOf('"', 1)) : rest.split("[,}]", 2)[0];
  }

  @Override
  public void close() {
    released.countDown();
    server.stop(0);
    threads.shutdownNow();
  }
}
