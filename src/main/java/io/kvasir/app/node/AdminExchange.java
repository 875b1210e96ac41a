package io.kvasir.app.node;

import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.RequestMemory;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.HttpHandler;
import io.kvasir.http.server.Response;
import java.net.InetAddress;
import org.apache.pekko.http.javadsl.model.AttributeKeys;
import org.apache.pekko.http.javadsl.model.ContentType;
import org.apache.pekko.http.javadsl.model.ContentTypes;
import org.apache.pekko.http.javadsl.model.HttpEntities;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.http.javadsl.model.StatusCodes;
import org.apache.pekko.http.javadsl.model.headers.RawHeader;

/** A request on the management port, given to a handler as the gateway's own are. */
record AdminExchange(HttpRequest request, byte[] body) implements Exchange {
  private static final String CONTENT_TYPE = "Content-Type";

  /** The handler's answer as Pekko HTTP writes it. Blocks as long as the handler does. */
  static HttpResponse answer(HttpHandler handler, HttpRequest request, byte[] body) {
    AdminExchange exchange = new AdminExchange(request, body);
    try {
      return response(handler.handle(exchange));
    } catch (Exception failed) {
      return failure(handler, request, 500, "the router failed to answer: " + failed.getMessage());
    }
  }

  /** The handler's answer to a request whose body did not come as it should. */
  static HttpResponse failure(HttpHandler handler, HttpRequest request, int status, String message) {
    return response(handler.failure(new AdminExchange(request, new byte[0]).target(), status, message));
  }

  private static HttpResponse response(Response answer) {
    if (!(answer instanceof Response.Buffered whole)) {
      ((Response.Streaming) answer).body().abandon();
      throw new IllegalStateException("administration does not stream");
    }
    Headers headers = whole.headers();
    HttpResponse response = HttpResponse.create().withStatus(StatusCodes.get(whole.status()));
    for (int i = 0; i < headers.size(); i++) {
      if (!headers.name(i).equals(CONTENT_TYPE)) {
        response = response.addHeader(RawHeader.create(headers.name(i), headers.value(i)));
      }
    }
    String type = headers.first(CONTENT_TYPE);
    return response.withEntity(
        HttpEntities.create(type == null ? ContentTypes.APPLICATION_JSON : ContentTypes.parse(type), whole.body()));
  }

  @Override
  public String method() {
    return request.method().name();
  }

  @Override
  public String target() {
    return request.getUri().getPathString() + request.getUri().rawQueryString().map(query -> "?" + query).orElse("");
  }

  @Override
  public Headers headers() {
    Headers.Builder headers = Headers.builder();
    request.getHeaders().forEach(header -> headers.add(header.name(), header.value()));
    ContentType type = request.entity().getContentType();
    // Pekko HTTP's value for requests without a content type.
    if (!type.equals(ContentTypes.APPLICATION_OCTET_STREAM)) {
      headers.add(CONTENT_TYPE, type.toString());
    }
    return headers.build();
  }

  @Override
  public RequestMemory memory() {
    return RequestMemory.UNCOUNTED;
  }

  @Override
  public InetAddress client() {
    return request
        .getAttribute(AttributeKeys.remoteAddress)
        .flatMap(address -> address.getAddress())
        .orElseThrow(() -> new IllegalStateException("the management port does not report remote addresses"));
  }

  @Override
  public Cancellation cancellation() {
    return Cancellation.NONE;
  }
}
