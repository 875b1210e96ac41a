package io.kvasir.app.node;

import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.RequestMemory;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.server.ArrivedRequest;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.HttpHandler;
import io.kvasir.http.server.RequestFailure;
import io.kvasir.http.server.Response;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.time.Duration;
import org.apache.pekko.http.javadsl.model.AttributeKeys;
import org.apache.pekko.http.javadsl.model.ContentType;
import org.apache.pekko.http.javadsl.model.ContentTypes;
import org.apache.pekko.http.javadsl.model.HttpEntities;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.http.javadsl.model.StatusCodes;
import org.apache.pekko.http.javadsl.model.headers.RawHeader;
import org.apache.pekko.stream.Attributes;
import org.apache.pekko.stream.KillSwitches;
import org.apache.pekko.stream.UniqueKillSwitch;
import org.apache.pekko.stream.javadsl.Source;
import org.apache.pekko.stream.javadsl.StreamConverters;
import org.apache.pekko.util.ByteString;

/** A request on the management port, given to a handler as the gateway's own are. */
record AdminExchange(HttpRequest request, byte[] body) implements Exchange {
  private static final String CONTENT_TYPE = "Content-Type";

  /** How long a client of a stream may read nothing before its connection is cut. */
  private static final Duration WRITE_TIMEOUT = Duration.ofSeconds(10);

  /** The handler's answer as Pekko HTTP writes it. Blocks as long as the handler does; not for the body of a stream. */
  static HttpResponse answer(HttpHandler handler, HttpRequest request, byte[] body) {
    AdminExchange exchange = new AdminExchange(request, body);
    try {
      return response(handler.handle(exchange));
    } catch (Exception failed) {
      return failure(handler, request, new RequestFailure(500, "the router failed to answer: " + failed.getMessage()));
    }
  }

  /** The handler's answer to a request whose body did not come as it should. */
  static HttpResponse failure(HttpHandler handler, HttpRequest request, RequestFailure why) {
    Exchange exchange = new AdminExchange(request, new byte[0]);
    ArrivedRequest arrived =
        new ArrivedRequest(exchange.method(), exchange.target(), exchange.headers(), exchange.client());
    return response(handler.failure(arrived, why));
  }

  private static HttpResponse response(Response answer) {
    Headers headers = answer.headers();
    HttpResponse response = HttpResponse.create().withStatus(StatusCodes.get(answer.status()));
    for (int i = 0; i < headers.size(); i++) {
      if (!headers.name(i).equals(CONTENT_TYPE)) {
        response = response.addHeader(RawHeader.create(headers.name(i), headers.value(i)));
      }
    }
    String named = headers.first(CONTENT_TYPE);
    ContentType type = named == null ? ContentTypes.APPLICATION_JSON : ContentTypes.parse(named);
    return response.withEntity(switch (answer) {
      case Response.Buffered whole -> HttpEntities.create(type, whole.body());
      case Response.Streaming streamed -> HttpEntities.createChunked(type, stream(streamed.body()));
    });
  }

  /** A body's bytes. It is run on a thread of its own once they are asked for, and cut off when it is cut short. */
  private static Source<ByteString, ?> stream(StreamingBody body) {
    return StreamConverters.asOutputStream(WRITE_TIMEOUT)
        .addAttributes(Attributes.inputBuffer(1, 1))
        .viaMat(
            KillSwitches.single(),
            (out, stream) ->
                Thread.ofVirtual().name("kvasir-management-stream").start(() -> run(body, out, stream)));
  }

  private static void run(StreamingBody body, OutputStream out, UniqueKillSwitch stream) {
    try {
      body.run(out::write);
      out.close();
    } catch (IOException | RuntimeException cutShort) {
      stream.abort(cutShort);
    }
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
