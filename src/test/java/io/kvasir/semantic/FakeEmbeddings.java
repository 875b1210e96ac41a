package io.kvasir.semantic;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A scripted embedding endpoint; by default a vector counts how often each of three words occurs. */
final class FakeEmbeddings implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final List<String> WORDS = List.of("code", "cook", "travel");

  /** The texts of each call, in order. */
  final List<List<String>> calls = new CopyOnWriteArrayList<>();

  final List<String> authorizations = new CopyOnWriteArrayList<>();
  final List<String> models = new CopyOnWriteArrayList<>();
  volatile Script script = FakeEmbeddings::vectors;
  private final HttpServer server;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

  /** Answers a call. */
  @FunctionalInterface
  interface Script {
    void answer(List<String> texts, HttpExchange exchange) throws IOException;
  }

  FakeEmbeddings() throws IOException {
    this(0);
  }

  FakeEmbeddings(int port) throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
    server.setExecutor(threads);
    server.createContext("/v1/embeddings", this::handle);
    server.start();
  }

  URI url() {
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/v1/embeddings");
  }

  private void handle(HttpExchange exchange) throws IOException {
    JsonNode body = JSON.readTree(exchange.getRequestBody());
    List<String> texts = body.path("input").valueStream().map(JsonNode::textValue).toList();
    authorizations.add(String.valueOf(exchange.getRequestHeaders().getFirst("Authorization")));
    models.add(body.path("model").textValue());
    calls.add(texts);
    try (exchange) {
      script.answer(texts, exchange);
    }
  }

  /** How often each of the words occurs. */
  static void vectors(List<String> texts, HttpExchange exchange) throws IOException {
    vectors(texts, exchange, WORDS.size());
  }

  /** The same with so many numbers. */
  static void vectors(List<String> texts, HttpExchange exchange, int dimension) throws IOException {
    ObjectNode answer = JSON.createObjectNode();
    ArrayNode data = answer.putArray("data");
    for (int i = texts.size() - 1; i >= 0; i--) {
      ArrayNode vector = data.addObject().put("index", i).putArray("embedding");
      for (int word = 0; word < dimension; word++) {
        int at = word;
        vector.add(word < WORDS.size() ? 0.01 + texts.get(i).split(WORDS.get(at), -1).length - 1 : 0);
      }
    }
    text(200, answer.toString(), exchange);
  }

  static void text(int status, String text, HttpExchange exchange) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(status, bytes.length);
    exchange.getResponseBody().write(bytes);
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
