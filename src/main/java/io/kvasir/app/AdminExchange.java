package io.kvasir.app;

import io.kvasir.execution.Headers;
import io.kvasir.gateway.http.Answer;
import io.kvasir.gateway.http.Exchange;
import io.kvasir.gateway.http.Handler;
import java.net.InetAddress;
import org.apache.pekko.http.javadsl.model.ContentTypes;
import org.apache.pekko.http.javadsl.model.HttpEntities;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.http.javadsl.model.StatusCodes;

/** A request on the management port, given to a handler as the gateway's own are. */
record AdminExchange(HttpRequest request, byte[] body) implements Exchange {
  /** The handler's answer as Pekko HTTP writes it. Blocks as long as the handler does. */
  static HttpResponse answer(Handler handler, HttpRequest request, byte[] body) {
    AdminExchange exchange = new AdminExchange(request, body);
    Answer answer;
    try {
      answer = handler.handle(exchange);
    } catch (Exception failed) {
      answer = handler.failure(exchange.target(), 500, "the router failed to answer: " + failed.getMessage());
    }
    if (!(answer instanceof Answer.Whole whole)) {
      throw new IllegalStateException("administration does not stream");
    }
    String contentType = whole.headers().first("Content-Type");
    return HttpResponse.create()
        .withStatus(StatusCodes.get(whole.status()))
        .withEntity(
            HttpEntities.create(
                contentType == null ? ContentTypes.APPLICATION_JSON : ContentTypes.parse(contentType), whole.body()));
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
    return headers.build();
  }

  @Override
  public InetAddress client() {
    return InetAddress.getLoopbackAddress();
  }

  @Override
  public boolean clientGone() {
    return false;
  }

  @Override
  public void onClientGone(Runnable action) {}
}
