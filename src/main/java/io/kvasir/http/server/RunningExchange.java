package io.kvasir.http.server;

import io.kvasir.http.ByteSink;
import io.kvasir.http.CancellationSource;
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;
import java.io.IOException;
import java.net.InetAddress;
import org.apache.pekko.Done;
import org.apache.pekko.http.javadsl.model.HttpMethods;
import org.apache.pekko.http.javadsl.model.HttpProtocols;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.stream.stage.AsyncCallback;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An exchange from its complete request to the last byte of its answer. Runs on its own virtual thread. */
final class RunningExchange implements Exchange, Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(RunningExchange.class);

  private final ClientConnection connection;
  private final HttpHandler handler;
  private final AsyncCallback<HttpResponse> sendResponse;
  private final HttpRequest request;
  private final String target;
  private final Headers headers;
  private final byte[] body;

  /** Cancelled when the client disconnects, closed when the answer is complete: one of them comes first. */
  private final CancellationSource cancellation = new CancellationSource();

  private volatile @Nullable SocketSink sink;

  RunningExchange(
      ClientConnection connection,
      HttpHandler handler,
      AsyncCallback<HttpResponse> answered,
      HttpRequest request,
      byte[] body) {
    this.connection = connection;
    this.handler = handler;
    this.sendResponse = answered;
    this.request = request;
    this.target = PekkoMapping.target(request);
    this.headers = PekkoMapping.headers(request, body.length);
    this.body = body;
  }

  @Override
  public String method() {
    return request.method().value();
  }

  @Override
  public String target() {
    return target;
  }

  @Override
  public Headers headers() {
    return headers;
  }

  @Override
  public byte[] body() {
    return body;
  }

  @Override
  public InetAddress client() {
    return connection.client();
  }

  @Override
  public CancellationSource cancellation() {
    return cancellation;
  }

  @Override
  public void run() {
    connection.exchangeStarted();
    try {
      answer();
    } finally {
      connection.exchangeEnded();
    }
  }

  private void answer() {
    Response answer;
    try {
      answer = handler.handle(this);
    } catch (Exception | LinkageError | StackOverflowError e) {
      LOG.error("{} {} failed", method(), target, e);
      answer = handler.failure(target, 500, "the router failed to handle this request");
    }
    switch (answer) {
      case Response.Buffered whole when sink != null -> {
        // Its head was sent as a stream's: the client has to see that this is not all of it.
        LOG.error("{} {} was answered whole after its stream had begun", method(), target);
        cancellation.close();
        connection.abort();
      }
      case Response.Buffered whole -> {
        connection.expectResponseEnd();
        sendResponse.invoke(PekkoMapping.response(whole, connection.closesAfterResponse()));
      }
      case Response.Streaming streamed -> stream(streamed);
    }
  }

  private void stream(Response.Streaming answer) {
    SocketSink begun = sink;
    if (begun == null && (request.method().equals(HttpMethods.HEAD) || !PekkoMapping.allowsBody(answer.status()))) {
      connection.expectResponseEnd();
      sendResponse.invoke(PekkoMapping.response(answer, connection.closesAfterResponse()));
      answer.body().abandon();
      return;
    }
    SocketSink client = begun == null ? head(answer.status(), answer.headers()) : begun;
    boolean whole = relay(answer.body(), client);
    AsyncCallback<Done> end = client.end();
    if (whole && end != null) {
      connection.expectResponseEnd();
      end.invoke(Done.getInstance());
    } else {
      cancellation.close();
      connection.abort();
    }
  }

  @Override
  public ByteSink sendHead(int status, Headers early) throws IOException {
    if (cancellation.isCancelled()) {
      throw new IOException("the client disconnected before the answer's head");
    }
    return head(status, early);
  }

  /** Sends the head of a streamed answer and waits until it has been written. */
  private SocketSink head(int status, Headers own) {
    SocketSink client = new SocketSink(connection, !request.protocol().equals(HttpProtocols.HTTP_1_0));
    sink = client;
    sendResponse.invoke(
        PekkoMapping.streamed(status, own, new StreamingBodySource(client), connection.closesAfterResponse()));
    connection.onStreamStopped(client::close);
    try {
      client.awaitHead();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return client;
  }

  private boolean relay(StreamingBody body, ByteSink client) {
    try {
      body.run(client);
      return true;
    } catch (IOException e) {
      LOG.debug("{} {} was cut: {}", method(), target, e.toString());
    } catch (RuntimeException | LinkageError | StackOverflowError e) {
      LOG.error("{} {} failed in its answer's body", method(), target, e);
    }
    return false;
  }
}
