package io.kvasir.app.admin;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Asks one router node's admin API. One thread at a time. */
final class AdminClient implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final JsonMapper JSON = new JsonMapper();

  private final URI management;
  private final @Nullable String key;
  private final HttpClient http = HttpClient.newBuilder().connectTimeout(TIMEOUT).build();

  AdminClient(URI management, @Nullable String key) {
    this.management = management;
    this.key = key;
  }

  /** The answer to a question; {@code query} without what is null. */
  JsonNode get(String path, Map<String, ? extends @Nullable Object> query)
      throws AdminFailedException, InterruptedException {
    String asked =
        query.entrySet().stream()
            .filter(parameter -> parameter.getValue() != null)
            .map(parameter -> parameter.getKey() + "=" + encoded(String.valueOf(parameter.getValue())))
            .collect(Collectors.joining("&"));
    return ask("GET", asked.isEmpty() ? path : path + "?" + asked, null);
  }

  /** The answer to a question without parameters. */
  JsonNode get(String path) throws AdminFailedException, InterruptedException {
    return ask("GET", path, null);
  }

  /** Has something done. */
  JsonNode post(String path, @Nullable ObjectNode body) throws AdminFailedException, InterruptedException {
    return ask("POST", path, body);
  }

  /** Has something taken away. */
  JsonNode delete(String path) throws AdminFailedException, InterruptedException {
    return ask("DELETE", path, null);
  }

  /** A text as it stands in a path or a query. */
  static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  @Override
  public void close() {
    http.close();
  }

  private JsonNode ask(String method, String target, @Nullable ObjectNode body)
      throws AdminFailedException, InterruptedException {
    URI uri = management.resolve(target);
    HttpRequest.Builder request = HttpRequest.newBuilder(uri).timeout(TIMEOUT);
    if (key != null) {
      request.header("Authorization", "Bearer " + key);
    }
    if (body == null) {
      request.method(method, BodyPublishers.noBody());
    } else {
      request.header("Content-Type", "application/json").method(method, BodyPublishers.ofString(body.toString()));
    }
    try {
      HttpResponse<String> answer = http.send(request.build(), BodyHandlers.ofString());
      JsonNode told = JSON.readTree(answer.body());
      if (answer.statusCode() / 100 == 2 && told.isObject()) {
        return told;
      }
      if (told.at("/error/message").isTextual()) {
        throw new AdminFailedException(refusal(answer.statusCode(), told.path("error")));
      }
      throw noRouter(uri, "it answers " + answer.statusCode(), null);
    } catch (JsonProcessingException other) {
      throw noRouter(uri, "its answer is no JSON", other);
    } catch (IOException nobody) {
      throw new AdminFailedException(
          "nothing answers at " + management + "; is a router running there, and is kvasir.management.host an address"
              + " that is reached from here? Name another node with --management",
          nobody);
    }
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
