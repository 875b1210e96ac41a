package io.kvasir.app;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.Node;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** Whole nodes in this process, and what clients and operators ask of them over real sockets. */
final class TestNodes {
  private static final Duration PATIENCE = Duration.ofSeconds(90);
  private static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /** What no test minds: ports of its own, and an end that does not take long. */
  private static final Config SETTINGS =
      ConfigFactory.parseString(
          """
          kvasir {
            gateway { host = "127.0.0.1", port = 0, drain-timeout = 1 s }
            access.open-routing-details = true
            management.port = 0
          }
          """);

  private TestNodes() {}

  /** A node with these settings, on loopback ports of its own where they name none. */
  static Node start(String settings) throws Exception {
    return start(ConfigFactory.parseString(settings));
  }

  static Node start(Config settings) throws Exception {
    return new Node(KvasirConfig.of(settings.withFallback(SETTINGS)));
  }

  /** Whether requests can come: the node knows the cluster and its keys, and has found so many workers healthy. */
  static boolean serves(Node node, int workers) {
    return node.readiness().obstacles().isEmpty() && DemoCommand.healthy(node) == workers;
  }

  /** The body of a request for a chat. */
  static String chat(String model, int maxTokens, String system, String question) {
    return
        """
        {"model": "%s", "max_tokens": %d, "messages": [
          {"role": "system", "content": "%s"}, {"role": "user", "content": "%s"}]}
        """
            .formatted(model, maxTokens, system, question);
  }

  static URI gateway(Node node, String path) {
    return at(node.gateway(), path);
  }

  static URI management(Node node, String path) {
    return at(node.management(), path);
  }

  /** Sends what has to be said otherwise than below. */
  static HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
    return HTTP.send(request.timeout(PATIENCE).build(), BodyHandlers.ofString());
  }

  /** Posts JSON to the gateway. */
  static HttpResponse<String> post(Node node, String path, String json, String... headers) throws Exception {
    return send(request("POST", gateway(node, path), json, headers));
  }

  /** The same, for those who have other things to do meanwhile. */
  static CompletableFuture<HttpResponse<String>> postAsync(
      Node node, String path, String json, String... headers) {
    return postAsync(gateway(node, path), json, headers);
  }

  static CompletableFuture<HttpResponse<String>> postAsync(URI uri, String json, String... headers) {
    return HTTP.sendAsync(request("POST", uri, json, headers).timeout(PATIENCE).build(), BodyHandlers.ofString());
  }

  /** What the management port answers to a GET. */
  static HttpResponse<String> manage(Node node, String path) throws Exception {
    return manage(node, "GET", path, "");
  }

  static HttpResponse<String> manage(Node node, String method, String path, String json, String... headers)
      throws Exception {
    return send(request(method, management(node, path), json, headers));
  }

  /** An answer of a node's management port whose body comes bit by bit. */
  static HttpResponse<InputStream> open(Node node, String path, String... headers) throws Exception {
    return HTTP.send(
        HttpRequest.newBuilder(management(node, path)).headers(headers).build(),
        HttpResponse.BodyHandlers.ofInputStream());
  }

  /** A header of an answer, empty when it has none of that name. */
  static String header(HttpResponse<?> answer, String name) {
    return answer.headers().firstValue(name).orElse("");
  }

  private static HttpRequest.Builder request(String method, URI uri, String json, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri)
            .header("Content-Type", "application/json")
            .method(method, json.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(json));
    return headers.length > 0 ? request.headers(headers) : request;
  }

  private static URI at(InetSocketAddress address, String path) {
    return URI.create("http://127.0.0.1:" + address.getPort() + path);
  }
}
