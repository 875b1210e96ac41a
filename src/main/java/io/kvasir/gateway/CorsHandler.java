package io.kvasir.gateway;

import io.kvasir.http.ByteSink;
import io.kvasir.http.Headers;
import io.kvasir.http.server.ArrivedRequest;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.ExchangeView;
import io.kvasir.http.server.HttpHandler;
import io.kvasir.http.server.ReachedLimit;
import io.kvasir.http.server.RequestFailure;
import io.kvasir.http.server.Response;
import java.io.IOException;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Lets pages of other origins use the gateway from a browser (Fetch standard, CORS protocol): answers preflights, and
 * allows the origin in every answer. All answers say that they vary with the origin, so that no cache keeps for one
 * what was answered to another. Pages show their key in a header, so credentials of the browser's own are not allowed.
 * Thread-safe.
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
    boolean preflight = exchange.method().equals("OPTIONS") && exchange.headers().has("Access-Control-Request-Method");
    if (origin != null && preflight) {
      return new Response.Buffered(204, preflight(exchange.headers(), origin), new byte[0]);
    }
    Response answer = gateway.handle(new CrossOriginExchange(exchange, origin));
    return answer.with(allowing(answer.headers(), origin));
  }

  @Override
  public Response.@Nullable Buffered refusal(ArrivedRequest request) {
    Response.Buffered refusal = gateway.refusal(request);
    return refusal == null ? null : allowing(refusal, request);
  }

  @Override
  public Response.Buffered failure(ArrivedRequest request, RequestFailure why) {
    return allowing(gateway.failure(request, why), request);
  }

  private Response.Buffered allowing(Response.Buffered answer, ArrivedRequest request) {
    return new Response.Buffered(
        answer.status(), allowing(answer.headers(), allowed(request.headers())), answer.body());
  }

  @Override
  public void unanswered(ReachedLimit limit) {
    gateway.unanswered(limit);
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

  private static Headers allowing(Headers headers, @Nullable String origin) {
    Headers.Builder varying = headers.toBuilder().add("Vary", ORIGIN);
    return origin == null
        ? varying.build()
        : varying.set(ALLOW_ORIGIN, origin).set("Access-Control-Expose-Headers", EXPOSED).build();
  }

  /** An exchange whose early head allows the origin, too, or none. */
  private record CrossOriginExchange(Exchange exchange, @Nullable String origin) implements ExchangeView {
    @Override
    public ByteSink sendHead(int status, Headers headers) throws IOException {
      return exchange.sendHead(status, allowing(headers, origin));
    }
  }
}
