package io.kvasir.gateway;

import io.kvasir.http.ByteSink;
import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.RequestMemory;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.HttpHandler;
import io.kvasir.http.server.Response;
import java.io.IOException;
import java.net.InetAddress;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Lets pages of other origins use the gateway from a browser (Fetch standard, CORS protocol): answers preflights, and
 * allows the origin in every answer. Pages show their key in a header, so credentials of the browser's own are not
 * allowed. Thread-safe.
 */
public final class CorsHandler implements HttpHandler {
  private static final String ORIGIN = "Origin";
  private static final String ALLOW_ORIGIN = "Access-Control-Allow-Origin";
  private static final String EXPOSED = "*";
  private static final String MAX_AGE_SECONDS = "600";

  private final HttpHandler gateway;
  private final Set<String> origins;

  /**
   * In front of a gateway.
   *
   * @param origins such as {@code https://chat.example}; {@code *} for all
   */
  public CorsHandler(HttpHandler gateway, Set<String> origins) {
    this.gateway = gateway;
    this.origins = Set.copyOf(origins);
  }

  @Override
  public Response handle(Exchange exchange) throws Exception {
    String origin = allowed(exchange.headers());
    if (origin == null) {
      return gateway.handle(exchange);
    }
    if (exchange.method().equals("OPTIONS") && exchange.headers().has("Access-Control-Request-Method")) {
      return new Response.Buffered(204, preflight(exchange.headers(), origin), new byte[0]);
    }
    Response answer = gateway.handle(new CrossOriginExchange(exchange, origin));
    return answer.with(allowing(answer.headers(), origin));
  }

  @Override
  public Response.@Nullable Buffered refusal(String target, Headers headers) {
    Response.Buffered refusal = gateway.refusal(target, headers);
    String origin = allowed(headers);
    return refusal == null || origin == null
        ? refusal
        : new Response.Buffered(refusal.status(), allowing(refusal.headers(), origin), refusal.body());
  }

  @Override
  public Response.Buffered failure(String target, int status, String message) {
    return gateway.failure(target, status, message);
  }

  private @Nullable String allowed(Headers headers) {
    String origin = headers.first(ORIGIN);
    return origin != null && (origins.contains("*") || origins.contains(origin)) ? origin : null;
  }

  private static Headers preflight(Headers request, String origin) {
    Headers.Builder answer =
        allowing(Headers.EMPTY, origin).toBuilder()
            .set("Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE")
            .set("Access-Control-Max-Age", MAX_AGE_SECONDS);
    String wanted = request.first("Access-Control-Request-Headers");
    return (wanted == null ? answer : answer.set("Access-Control-Allow-Headers", wanted)).build();
  }

  private static Headers allowing(Headers headers, String origin) {
    return headers.toBuilder()
        .set(ALLOW_ORIGIN, origin)
        .add("Vary", ORIGIN)
        .set("Access-Control-Expose-Headers", EXPOSED)
        .build();
  }

  /** An exchange whose early head allows the origin, too. */
  private record CrossOriginExchange(Exchange of, String origin) implements Exchange {
    @Override
    public String method() {
      return of.method();
    }

    @Override
    public String target() {
      return of.target();
    }

    @Override
    public Headers headers() {
      return of.headers();
    }

    @Override
    public byte[] body() {
      return of.body();
    }

    @Override
    public RequestMemory memory() {
      return of.memory();
    }

    @Override
    public InetAddress client() {
      return of.client();
    }

    @Override
    public Cancellation cancellation() {
      return of.cancellation();
    }

    @Override
    public ByteSink sendHead(int status, Headers headers) throws IOException {
      return of.sendHead(status, allowing(headers, origin));
    }
  }
}
