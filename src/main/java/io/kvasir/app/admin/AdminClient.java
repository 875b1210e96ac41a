package io.kvasir.app.admin;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCalls;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** A client of one router node's admin API. Thread-safe. Owns its HTTP client. */
public final class AdminClient implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final long MAX_BYTES = 128 << 20;
  private static final int MAX_ERROR_BYTES = 1 << 20;
  private static final Duration SILENCE = Duration.ofSeconds(8);
  private static final JsonMapper JSON = new JsonMapper();

  private final URI management;
  private final @Nullable String key;
  private final HttpCalls calls;

  /**
   * A client of a node.
   *
   * @param key null where the node needs none
   * @param tls for an {@code https} address; null for what the JVM trusts
   */
  AdminClient(URI management, @Nullable String key, @Nullable SSLContext tls) {
    this.management = management;
    this.key = key;
    this.calls = new HttpCalls(null, tls);
  }

  /** The response to a GET; parameters of {@code query} that are null are left out. */
  JsonNode get(String path, Map<String, ? extends @Nullable Object> query)
      throws AdminFailedException, InterruptedException {
    String parameters =
        query.entrySet().stream()
            .filter(parameter -> parameter.getValue() != null)
            .map(parameter -> parameter.getKey() + "=" + encoded(String.valueOf(parameter.getValue())))
            .collect(Collectors.joining("&"));
    return call("GET", parameters.isEmpty() ? path : path + "?" + parameters, null);
  }

  /** The response to a GET without parameters. */
  public JsonNode get(String path) throws AdminFailedException, InterruptedException {
    return call("GET", path, null);
  }

  /** The response to a POST. */
  JsonNode post(String path, @Nullable ObjectNode body) throws AdminFailedException, InterruptedException {
    return call("POST", path, body);
  }

  /** The response to a DELETE. */
  JsonNode delete(String path) throws AdminFailedException, InterruptedException {
    return call("DELETE", path, null);
  }

  /**
   * Follows topics of {@code /admin/watch} until the stream ends.
   *
   * @param states takes the state of every topic whenever one has changed, which stays as it is
   * @throws AdminFailedException when the router refuses the stream, or nothing has come on it for some seconds
   */
  public void watch(List<String> topics, Consumer<Map<String, ObjectNode>> states)
      throws AdminFailedException, InterruptedException {
    URI uri = management.resolve("/admin/watch?topics=" + String.join(",", topics));
    HttpCalls.Request request = HttpCalls.Request.get(uri, TIMEOUT).withBearer(key);
    try {
      HttpResponse<InputStream> response = calls.open(request);
      try (InputStream body = response.body()) {
        if (response.statusCode() != 200) {
          throw refused(uri, response.statusCode(), JSON.readTree(body.readNBytes(MAX_ERROR_BYTES)));
        }
        read(body, new TopicStates(topics.size()), states);
      }
    } catch (JsonProcessingException malformed) {
      throw noRouter(uri, "its answer is no JSON", malformed);
    } catch (HttpCallException failed) {
      throw unreachable(failed);
    } catch (IOException broken) {
      throw new AdminFailedException("the stream of " + uri + " broke off", broken);
    }
  }

  private static void read(InputStream body, TopicStates topics, Consumer<Map<String, ObjectNode>> states)
      throws IOException, InterruptedException {
    AtomicLong heard = new AtomicLong(System.nanoTime());
    Thread watchdog = Thread.ofVirtual().name("kvasir-watchdog").start(() -> closeWhenSilent(body, heard));
    try {
      byte[] buffer = new byte[64 << 10];
      for (int length = body.read(buffer); length >= 0; length = body.read(buffer)) {
        heard.set(System.nanoTime());
        if (topics.accept(buffer, length)) {
          states.accept(topics.states());
        }
      }
    } catch (IOException broken) {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      throw broken;
    } finally {
      watchdog.interrupt();
    }
  }

  /** The router sends something every second: a line that is dead without having been closed is known by silence. */
  private static void closeWhenSilent(InputStream body, AtomicLong heard) {
    try {
      long silent = 0;
      while (silent < SILENCE.toNanos()) {
        Thread.sleep(SILENCE.minusNanos(silent));
        silent = System.nanoTime() - heard.get();
      }
      body.close();
    } catch (InterruptedException ended) {
      Thread.currentThread().interrupt();
    } catch (IOException closed) {
      // It has ended by itself.
    }
  }

  /** A text percent-encoded for a path or a query. */
  static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  /** Where the node's management is. */
  @Override
  public String toString() {
    return management.toString();
  }

  @Override
  public void close() {
    calls.close();
  }

  private JsonNode call(String method, String target, @Nullable ObjectNode body)
      throws AdminFailedException, InterruptedException {
    URI uri = management.resolve(target);
    HttpCalls.Request request =
        HttpCalls.Request.of(method, uri, TIMEOUT).withBearer(key).withMaxBytes(MAX_BYTES);
    if (body != null) {
      request = request.withJson(body.toString().getBytes(StandardCharsets.UTF_8));
    }
    try {
      HttpCalls.Reply reply = calls.send(request);
      JsonNode content = reply.json();
      if (reply.status() / 100 == 2 && content.isObject()) {
        return content;
      }
      throw refused(uri, reply.status(), content);
    } catch (HttpCallException failed) {
      throw failed.kind() == HttpCallException.Kind.NOT_JSON
          ? noRouter(uri, "its answer is no JSON", failed)
          : unreachable(failed);
    }
  }

  private AdminFailedException refused(URI uri, int status, JsonNode content) {
    return content.at("/error/message").isTextual()
        ? new AdminFailedException(refusal(status, content.path("error")))
        : noRouter(uri, "it answers " + status, null);
  }

  private AdminFailedException unreachable(HttpCallException failed) {
    for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
      if (cause instanceof SSLException) {
        return new AdminFailedException(
            "TLS with " + management + " failed: " + cause.getMessage() + "; name the authority of the router's"
                + " certificate with --ca or KVASIR_MANAGEMENT_CA, and where it wants one of yours, --certificate and"
                + " --client-key",
            failed);
      }
    }
    return new AdminFailedException(
        "nothing answers at " + management + "; is a router running there, does it have TLS (https), and is"
            + " kvasir.management.host an address that is reached from here? Name another node with --management",
        failed);
  }

  private String refusal(int status, JsonNode error) {
    StringBuilder message = new StringBuilder(error.path("message").asText());
    if (status == 401) {
      message.append(key == null ? "; give it" : "; give another").append(" by --key-file or KVASIR_ADMIN_KEY");
    }
    for (JsonNode fault : error.path("faults")) {
      String file = fault.path("file").asText("");
      message.append("\n  ");
      if (!file.isEmpty()) {
        message.append(file).append(':').append(fault.path("line").asText()).append(": ");
      }
      message.append(fault.path("field").asText()).append(": ").append(fault.path("message").asText());
      if (fault.has("remedy")) {
        message.append("; ").append(fault.path("remedy").asText());
      }
    }
    return message.toString();
  }

  private static AdminFailedException noRouter(URI uri, String why, @Nullable Exception cause) {
    return new AdminFailedException(
        "what answers at " + uri + " is no Kvasir router's management (" + why
            + "); the port is kvasir.management.port, 7626 unless set, and not the gateway's",
        cause);
  }
}
