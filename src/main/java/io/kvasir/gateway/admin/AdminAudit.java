package io.kvasir.gateway.admin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.kvasir.gateway.admin.AdminKeys.Administrator;
import io.kvasir.http.server.Exchange;
import io.kvasir.telemetry.AuditLog;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * The record of administration: who changed what, from what to what, and who was refused. What a change was about is
 * read with the admin API's own GET of it, before and after. Thread-safe.
 */
final class AdminAudit {
  private static final int MAX_LENGTH = 1024;
  private static final List<String> NAMES = List.of("/id", "/pod", "/key/id");
  private static final String REQUEST_ID = "X-Request-Id";

  private final AuditLog log;
  private final List<AdminRoute> routes;
  private final InstantSource clock;

  AdminAudit(AuditLog log, List<AdminRoute> routes, InstantSource clock) {
    this.log = log;
    this.routes = routes;
    this.clock = clock;
  }

  /** What a request is about as it is now, null when there is no such thing, or none that can be shown alone. */
  @Nullable JsonNode state(Exchange exchange, Administrator by) {
    String path = exchange.path();
    JsonNode own = read(exchange, by, path);
    return own != null ? own : read(exchange, by, path.substring(0, Math.max(0, path.lastIndexOf('/'))));
  }

  /** Records what has been done, with the state of it afterwards. */
  void done(Exchange exchange, Administrator by, AdminResponse answer, @Nullable JsonNode before) {
    String name = answer.status() == 201 ? created(answer.body()) : null;
    JsonNode after = name == null ? state(exchange, by) : read(exchange, by, exchange.path() + "/" + name);
    ObjectNode line = line(exchange, by, "success", answer.status());
    set(line, "before", answer.status() == 201 ? null : before);
    set(line, "after", after);
    log.add(line);
  }

  /** Records a refusal; {@code by} is null where nobody was recognised. */
  void refused(Exchange exchange, @Nullable Administrator by, AdminException why) {
    boolean denied = why.status() == 401 || why.status() == 403;
    ObjectNode line = line(exchange, by, denied ? "denied" : "failed", why.status())
        .put("message", clean(String.valueOf(why.getMessage())));
    if (by == null) {
      log.addOfUnknown(line);
    } else {
      log.add(line);
    }
  }

  private ObjectNode line(Exchange exchange, @Nullable Administrator by, String outcome, int status) {
    String given = exchange.headers().first(REQUEST_ID);
    return AdminResponse.object()
        .put("timestamp", clock.instant().toString())
        .put("event", "administration")
        .put("principal", by == null ? "unknown" : by.id())
        .put("role", by == null ? "none" : by.role().label())
        .put("client", exchange.client().getHostAddress())
        .put("method", clean(exchange.method()))
        .put("path", clean(exchange.path()))
        .put("outcome", outcome)
        .put("status", status)
        .put("request_id",
            given == null ? HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong()) : clean(given));
  }

  /** The name of what has been made, as answers have it. */
  private static @Nullable String created(JsonNode answer) {
    for (String pointer : NAMES) {
      if (answer.at(pointer).isTextual()) {
        return answer.at(pointer).textValue();
      }
    }
    return null;
  }

  private @Nullable JsonNode read(Exchange exchange, Administrator by, String path) {
    AdminRoute reading =
        routes.stream().filter(route -> route.method().equals("GET") && route.matches(path)).findFirst().orElse(null);
    try {
      return reading != null && reading.answer(InnerExchange.get(exchange, path), by) instanceof AdminResponse shown
          ? shown.body()
          : null;
    } catch (AdminException | RuntimeException thereIsNone) {
      return null;
    }
  }

  private static void set(ObjectNode line, String field, @Nullable JsonNode state) {
    if (state != null) {
      JsonNode masked = SecretMask.masked(field, state);
      String text = masked.toString();
      line.set(field, text.length() <= MAX_LENGTH ? masked : TextNode.valueOf(clean(text)));
    }
  }

  /** Without control characters, and cut. */
  private static String clean(String text) {
    return text.substring(0, Math.min(text.length(), MAX_LENGTH)).replaceAll("\\p{Cntrl}", " ");
  }
}
