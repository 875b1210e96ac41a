package io.kvasir.http.server;

import io.kvasir.http.ByteSink;
import io.kvasir.http.CancellationSource;
import io.kvasir.http.Headers;
import io.kvasir.http.MemoryBudget;
import io.kvasir.http.RequestMemory;
import io.kvasir.http.StreamingBody;
import io.kvasir.telemetry.RedactedException;
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

  private static final int SWITCHING = 101;

  private final ClientConnection connection;
  private final HttpHandler handler;
  private final AsyncCallback<HttpResponse> sendResponse;
  private final HttpRequest request;
  private final String target;
  private final Headers headers;
  private final byte[] body;
  private final MemoryBudget.Account memory;

  /** Cancelled when the client disconnects, closed when the answer is complete: one of them comes first. */
  private final CancellationSource cancellation = new CancellationSource();

  // Guarded by this.
  private @Nullable SocketSink sink;
  private boolean answered;

  RunningExchange(
      ClientConnection connection,
      HttpHandler handler,
      AsyncCallback<HttpResponse> answered,
      HttpRequest request,
      byte[] body,
      MemoryBudget.Account memory) {
    this.connection = connection;
    this.handler = handler;
    this.sendResponse = answered;
    this.request = request;
    this.target = PekkoMapping.target(request);
    this.headers = PekkoMapping.headers(request, body.length);
    this.body = body;
    this.memory = memory;
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
  public RequestMemory memory() {
    return memory;
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
    } catch (Throwable e) {
      LOG.error("{} {} failed", method(), target, RedactedException.of(e));
      cut();
    } finally {
      memory.close();
      connection.exchangeEnded();
    }
  }

  private void answer() {
    Response answer;
    try {
      answer = handler.handle(this);
    } catch (Throwable e) {
      // Errors, too: whatever happened, the client is answered, and the connection goes on to its next request.
      LOG.error("{} {} failed", method(), target, RedactedException.of(e));
      answer =
          handler.failure(
              new ArrivedRequest(method(), target, headers, client()),
              new RequestFailure(500, "the router failed to handle this request"));
    }
    SocketSink begun = answered();
    switch (answer) {
      case Response.Buffered whole when begun != null -> {
        // Its head was sent as a stream's: the client has to see that this is not all of it.
        LOG.error("{} {} was answered whole after its stream had begun", method(), target);
        cut();
      }
      case Response.Buffered whole -> {
        connection.expectResponseEnd();
        sendResponse.invoke(PekkoMapping.response(whole, connection.closesAfterResponse()));
      }
      case Response.Streaming streamed when streamed.status() == SWITCHING -> upgrade(streamed);
      case Response.Streaming streamed -> stream(streamed, begun);
    }
  }

  /** Ends the time for {@link #sendHead}; the sink that it gave, null when it was not called. */
  private @Nullable SocketSink answered() {
    synchronized (this) {
      answered = true;
      return sink;
    }
  }

  private void stream(Response.Streaming answer, @Nullable SocketSink begun) {
    if (begun == null && (request.method().equals(HttpMethods.HEAD) || !PekkoMapping.allowsBody(answer.status()))) {
      answer.body().abandon();
      connection.expectResponseEnd();
      sendResponse.invoke(PekkoMapping.response(answer, connection.closesAfterResponse()));
      return;
    }
    SocketSink client = begun == null ? newSink() : begun;
    if (begun == null) {
      try {
        sendHead(client, answer.status(), answer.headers());
      } catch (Throwable e) {
        answer.body().abandon();
        throw e;
      }
    } else {
      awaitHead(begun);
    }
    boolean whole = relay(answer.body(), client);
    client.disconnectIfBroken();
    AsyncCallback<Done> end = client.end();
    if (whole && end != null) {
      connection.expectResponseEnd();
      end.invoke(Done.getInstance());
    } else {
      cut();
    }
  }

  /** Has the connection leave HTTP. It ends with the body. */
  private void upgrade(Response.Streaming answer) {
    UpgradedConnection client;
    try {
      client = connection.upgrade();
      client.sendHead(answer.headers());
    } catch (IOException e) {
      answer.body().abandon();
      cut();
      return;
    }
    boolean whole = relay(answer.body(), client);
    client.disconnectIfBroken();
    if (whole) {
      connection.finish();
    } else {
      cut();
    }
  }

  /** Closes the connection in the midst of the answer, so that the client sees that it is not whole. */
  private void cut() {
    SocketSink begun = answered();
    cancellation.close();
    connection.abort();
    if (begun != null) {
      begun.end();
    }
  }

  @Override
  public ByteSink sendHead(int status, Headers early) throws IOException {
    if (cancellation.isCancelled()) {
      throw new IOException("the client disconnected before the answer's head");
    }
    SocketSink client;
    synchronized (this) {
      if (answered || sink != null) {
        throw new IOException("the exchange has its answer");
      }
      client = newSink();
      sink = client;
    }
    sendHead(client, status, early);
    return client;
  }

  private SocketSink newSink() {
    return new SocketSink(connection, !request.protocol().equals(HttpProtocols.HTTP_1_0));
  }

  /** Sends the head of a streamed answer and waits until it has been written. */
  private void sendHead(SocketSink client, int status, Headers own) {
    try {
      sendResponse.invoke(
          PekkoMapping.streamed(status, own, new StreamingBodySource(client), connection.closesAfterResponse()));
    } catch (Throwable e) {
      // Whoever waits for it is not to wait for ever.
      client.close();
      throw e;
    }
    connection.onStreamStopped(client::close);
    awaitHead(client);
  }

  private static void awaitHead(SocketSink client) {
    try {
      client.awaitHead();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean relay(StreamingBody body, ByteSink client) {
    try {
      body.run(client);
      return true;
    } catch (IOException e) {
      LOG.debug("{} {} was cut: {}", method(), target, e.toString());
    } catch (Throwable e) {
      LOG.error("{} {} failed in its answer's body", method(), target, RedactedException.of(e));
    }
    return false;
  }
}
