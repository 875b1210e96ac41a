package io.kvasir.gateway.admin;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.gateway.admin.AdminKeys.Administrator;
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.server.ArrivedRequest;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.HttpHandler;
import io.kvasir.http.server.RequestFailure;
import io.kvasir.http.server.Response;
import io.kvasir.telemetry.AuditLog;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.RedactedException;
import io.prometheus.metrics.core.metrics.Counter;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code /admin}: lets in who may administer, finds the route that was called, and answers in JSON whatever happens.
 * Thread-safe.
 */
public final class AdminApi implements HttpHandler {
  private static final Logger LOG = LoggerFactory.getLogger(AdminApi.class);
  private static final Headers JSON = Headers.of("Content-Type", "application/json", "Cache-Control", "no-store");

  private final AdminKeys keys;
  private final List<AdminRoute> routes;
  private final AdminAudit audit;
  private final Counter requests;

  /**
   * Over its parts.
   *
   * @param audit where changes and refusals are recorded
   * @param metrics where it counts requests; once per registry
   */
  public AdminApi(AdminKeys keys, List<AdminResource> parts, AuditLog audit, Metrics metrics) {
    this.keys = keys;
    this.routes = parts.stream().flatMap(part -> part.routes().stream()).toList();
    this.audit = new AdminAudit(audit, routes, InstantSource.system());
    this.requests =
        Counter.builder()
            .name("kvasir_admin_requests_total")
            .help("Requests to the admin API by route (none: there is no such path) and status")
            .labelNames("method", "route", "status")
            .register(metrics.registry());
  }

  @Override
  public Response handle(Exchange exchange) {
    AdminRoute route = null;
    Administrator by = null;
    Response answer;
    try {
      by = keys.check(exchange.headers(), exchange.client());
      List<AdminRoute> matching = routes.stream().filter(each -> each.matches(exchange.path())).toList();
      route = named(matching, exchange.method());
      if (!by.role().allows(changes(exchange, route))) {
        throw AdminException.of(403, "this key is a viewer's, which changes nothing; use one of an admin");
      }
      answer = route == null ? nothing(exchange, matching) : answer(exchange, route, by);
    } catch (AdminException refused) {
      if (by == null || changes(exchange, route)) {
        audit.refused(exchange, by, refused);
      }
      answer = refused(refused);
    } catch (RuntimeException failed) {
      LOG.warn("{} {} failed", exchange.method(), exchange.path(), RedactedException.of(failed));
      answer = refused(AdminException.of(500, "the router failed to answer: " + failed.getMessage()));
    }
    requests
        .labelValues(
            route == null ? "" : route.method(),
            route == null ? "none" : route.path(),
            Integer.toString(answer.status()))
        .inc();
    return answer;
  }

  @Override
  public Response.Buffered failure(ArrivedRequest request, RequestFailure why) {
    return refused(AdminException.of(why.status(), why.message()));
  }

  /** Whether a request would change something; without a route, whether its method is one that does. */
  private static boolean changes(Exchange exchange, @Nullable AdminRoute route) {
    return route == null ? !exchange.method().equals("GET") : route.changes();
  }

  private Response answer(Exchange exchange, AdminRoute route, Administrator by) throws AdminException {
    JsonNode before = route.changes() ? audit.state(exchange, by) : null;
    return switch (route.answer(exchange, by)) {
      case AdminResponse done -> {
        if (route.changes()) {
          audit.done(exchange, by, done, before);
        }
        yield new Response.Buffered(done.status(), JSON, bytes(done.body().toString()));
      }
      case AdminStream stream ->
          new Response.Streaming(
              200,
              stream.headers(),
              StreamingBody.of(sink -> stream.body().writeTo(sink, () -> isStillAllowed(exchange))));
    };
  }

  /** Whether the key of a request that has begun opens yet. */
  private boolean isStillAllowed(Exchange exchange) {
    try {
      return keys.check(exchange.headers(), exchange.client()).role().allows(false);
    } catch (AdminException withdrawn) {
      return false;
    }
  }

  /** Everything it does. */
  public List<AdminRoute> routes() {
    return routes;
  }

  private static @Nullable AdminRoute named(List<AdminRoute> matching, String method) {
    return matching.stream().filter(route -> route.method().equals(method)).findFirst().orElse(null);
  }

  private Response nothing(Exchange exchange, List<AdminRoute> matching) {
    if (matching.isEmpty()) {
      List<String> paths = routes.stream().map(AdminRoute::path).distinct().sorted().toList();
      return refused(AdminException.of(
          404, "there is nothing at %s; there are %s".formatted(exchange.path(), String.join(", ", paths))));
    }
    String allowed = String.join(", ", matching.stream().map(AdminRoute::method).sorted().toList());
    Response answer = refused(AdminException.of(
        405, "%s does not take %s, but %s".formatted(exchange.path(), exchange.method(), allowed)));
    return answer.with(answer.headers().toBuilder().add("Allow", allowed).build());
  }

  private static Response.Buffered refused(AdminException why) {
    Headers headers =
        why.status() == 401
            ? JSON.toBuilder().add("WWW-Authenticate", "Bearer realm=\"kvasir admin\"").build()
            : JSON;
    return new Response.Buffered(why.status(), headers, bytes(why.body().toString()));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
