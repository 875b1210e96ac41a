package io.kvasir.gateway.admin;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.gateway.admin.AdminKeys.Administrator;
import io.kvasir.http.Headers;
import io.kvasir.http.JsonFault;
import io.kvasir.http.server.Exchange;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** A call of an admin route: what stands in its path, its query and its body. Immutable. */
public final class AdminRequest {
  private static final JsonMapper JSON =
      JsonMapper.builder().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).build();

  private final Exchange exchange;
  private final Administrator administrator;
  private final Map<String, String> variables;
  private final Map<String, String> query;

  private AdminRequest(
      Exchange exchange, Administrator administrator, Map<String, String> variables, Map<String, String> query) {
    this.exchange = exchange;
    this.administrator = administrator;
    this.variables = variables;
    this.query = query;
  }

  /**
   * A request.
   *
   * @param administrator whose key it came with
   * @param variables the values of the names in the route's path
   * @param parameters the names that its query may have
   * @throws AdminException when the query has others, or one twice
   */
  static AdminRequest of(
      Exchange exchange, Administrator administrator, Map<String, String> variables, Set<String> parameters)
      throws AdminException {
    return new AdminRequest(exchange, administrator, variables, query(exchange.target(), parameters));
  }

  /** Whose key it came with. */
  Administrator administrator() {
    return administrator;
  }

  /** What stands in the path for a name of the route's. */
  public String variable(String name) {
    return Objects.requireNonNull(variables.get(name), name);
  }

  /** What the query gives a parameter of the route's, null when it does not name it. */
  public @Nullable String parameter(String name) {
    return query.get(name);
  }

  /**
   * The body, which has to be a JSON object.
   *
   * @param expected what to send instead, in an error's words
   * @throws AdminException when it is none
   */
  public ObjectNode body(String expected) throws AdminException {
    String type = exchange.headers().first("Content-Type");
    if (type != null && !isJson(type)) {
      throw AdminException.of(
          415, "the body's Content-Type is %s, and has to be application/json (curl --json)".formatted(type));
    }
    try {
      JsonNode tree = JSON.readTree(exchange.body());
      if (tree instanceof ObjectNode object) {
        return object;
      }
      throw AdminException.invalid("body", "the body is no JSON object; " + expected);
    } catch (StreamConstraintsException e) {
      throw AdminException.invalid(
          "body", "the body is more than is read: %s; %s".formatted(JsonFault.words(e), expected));
    } catch (JsonProcessingException e) {
      throw AdminException.invalid(
          "body",
          "the body is not valid JSON: %s; %s".formatted(JsonFault.placed(e), expected));
    } catch (IOException e) {
      throw new AssertionError("reading an array", e);
    }
  }

  /**
   * The query's {@code limit}.
   *
   * @param standard where it names none
   * @param most what it may be
   * @throws AdminException when it is another
   */
  int limit(int standard, int most) throws AdminException {
    String limit = parameter("limit");
    if (limit == null) {
      return standard;
    }
    if (limit.matches("[1-9]\\d{0,8}") && Integer.parseInt(limit) <= most) {
      return Integer.parseInt(limit);
    }
    throw AdminException.invalid("limit", "limit has to be a number from 1 to " + most + ", not '" + limit + "'");
  }

  /** A request of the router's own in the course of this one. */
  Exchange inner(String method, String target, Headers headers, byte[] body) {
    return new InnerExchange(exchange, method, target, headers, body);
  }

  private static boolean isJson(String type) {
    int end = type.indexOf(';');
    String essence = (end < 0 ? type : type.substring(0, end)).strip().toLowerCase(Locale.ROOT);
    return essence.equals("application/json") || essence.endsWith("+json");
  }

  private static Map<String, String> query(String target, Set<String> parameters) throws AdminException {
    Map<String, String> query = new HashMap<>();
    int at = target.indexOf('?');
    for (String pair : at < 0 ? new String[0] : target.substring(at + 1).split("&", -1)) {
      int equals = pair.indexOf('=');
      String name = decoded(equals < 0 ? pair : pair.substring(0, equals));
      if (name.isEmpty() && equals < 0) {
        continue;
      }
      if (!parameters.contains(name)) {
        throw AdminException.invalid(
            name,
            "there is no parameter '%s'%s".formatted(
                name, parameters.isEmpty() ? " here" : "; there are " + String.join(", ", new TreeSet<>(parameters))));
      }
      if (query.put(name, equals < 0 ? "" : decoded(pair.substring(equals + 1))) != null) {
        throw AdminException.invalid(name, "'%s' is given twice".formatted(name));
      }
    }
    return query;
  }

  private static String decoded(String text) throws AdminException {
    try {
      return URLDecoder.decode(text, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw AdminException.invalid("query", "'" + text + "' in the query is not percent-encoded");
    }
  }
}
