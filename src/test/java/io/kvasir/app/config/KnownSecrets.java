package io.kvasir.app.config;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** As much of Kubernetes' API as a chart needs that looks Secrets up. */
final class KnownSecrets implements AutoCloseable {
  private static final String SECRETS = "/api/v1/namespaces/llm/secrets/";

  private final HttpServer server;

  /** Serves Secrets, by name. */
  KnownSecrets(Map<String, JsonNode> secrets) throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/api/v1",
        exchange ->
            answer(
                exchange,
                200,
                """
                {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [
                  {"name": "secrets", "singularName": "secret", "namespaced": true, "kind": "Secret",
                   "verbs": ["get"]}]}
                """));
    server.createContext(
        SECRETS,
        exchange -> {
          JsonNode secret = secrets.get(exchange.getRequestURI().getPath().substring(SECRETS.length()));
          if (secret == null) {
            answer(
                exchange,
                404,
                """
                {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
                """);
          } else {
            answer(exchange, 200, secret.toString());
          }
        });
    server.start();
  }

  /** Writes a configuration for clients of this API. */
  Path kubeconfig(Path directory) throws IOException {
    return Files.writeString(
        directory.resolve("kubeconfig"),
        """
        {"apiVersion": "v1", "kind": "Config", "current-context": "test",
         "clusters": [{"name": "test", "cluster": {"server": "http://127.0.0.1:%d"}}],
         "contexts": [{"name": "test", "context": {"cluster": "test", "user": ""}}]}
        """
            .formatted(server.getAddress().getPort()));
  }

  @Override
  public void close() {
    server.stop(0);
  }

  private static void answer(HttpExchange exchange, int status, String body) throws IOException {
    byte[] bytes = body.getBytes(UTF_8);
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.sendResponseHeaders(status, bytes.length);
    try (exchange) {
      exchange.getResponseBody().write(bytes);
    }
  }
}
