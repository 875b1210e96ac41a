package io.kvasir.http.server;

import io.kvasir.http.Headers;
import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
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

  /** Guards the client's leaving against the answer's being complete: one of them comes first. */
  private final Object lock = new Object();

  private @Nullable List<Runnable> cancelActions;
  private boolean cancelled;
  private boolean done;
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
  public boolean isCancelled() {
    synchronized (lock) {
      return cancelled;
    }
  }

  @Override
  public void onCancelled(Runnable action) {
    synchronized (lock) {
      if (done) {
        return;
      }
      if (!cancelled) {
        if (cancelActions == null) {
          cancelActions = new ArrayList<>(2);
        }
        cancelActions.add(action);
        return;
      }
    }
    action.run();
  }

  /** The client has left: whoever works for it should know. */
  void cancel() {
    List<Runnable> actions;
    synchronized (lock) {
      if (done || cancelled) {
        return;
      }
      cancelled = true;
      actions = cancelActions;
      cancelActions = null;
    }
    if (actions != null) {
      for (Runnable action : actions) {
        try {
          action.run();
        } catch (RuntimeException e) {
          LOG.warn("An action on a client's leaving failed", e);
        }
      }
    }
  }

  /** The answer has been sent whole: from here on a client that leaves is none of ours. */
  void complete() {
    synchronized (lock) {
      done = true;
      cancelActions = null;
    }
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
        // Its head has gone out as a stream's: the client is to see that this is not all of it.
        LOG.error("{} {} was answered whole after its stream had begun", method(), target);
        complete();
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
      relay(answer.streamingBody(), (bytes, offset, length) -> {});
      return;
    }
    SocketSink way = begun == null ? head(answer.status(), answer.headers()) : begun;
    boolean whole = relay(answer.streamingBody(), way);
    AsyncCallback<Done> end = way.end;
    if (whole && end != null) {
      connection.expectResponseEnd();
      end.invoke(Done.getInstance());
    } else {
      complete();
      connection.abort();
    }
  }

  @Override
  public StreamingBody.BodySink sendHead(int status, Headers early) throws IOException {
    if (isCancelled()) {
      throw new IOException("the client left before the answer's head");
    }
    return head(status, early);
  }

  /** Sends the head of a streamed answer and waits until it has left. */
  private SocketSink head(int status, Headers own) {
    SocketSink way = new SocketSink(!request.protocol().equals(HttpProtocols.HTTP_1_0));
    sink = way;
    sendResponse.invoke(
        PekkoMapping.streamed(status, own, new StreamingBodySource(way), connection.closesAfterResponse()));
    connection.onStreamStopped(way.headSent::countDown);
    try {
      way.headSent.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return way;
  }

  private boolean relay(StreamingBody relay, StreamingBody.BodySink way) {
    try {
      relay.run(way);
      return true;
    } catch (IOException e) {
      LOG.debug("{} {} was cut: {}", method(), target, e.toString());
    } catch (Exception | LinkageError | StackOverflowError e) {
      LOG.error("{} {} failed in its answer's body", method(), target, e);
    }
    return false;
  }

  /** The relay's way to the socket, past the stream, open between the head and the end. */
  final class SocketSink implements StreamingBody.BodySink {
    private final CountDownLatch headSent = new CountDownLatch(1);
    private final boolean chunked;
    private volatile @Nullable AsyncCallback<Done> end;

    SocketSink(boolean chunked) {
      this.chunked = chunked;
    }

    /** The head is on its way; {@code end} ends the body. */
    void open(AsyncCallback<Done> end) {
      this.end = end;
      headSent.countDown();
    }

    /** The stream wants no body any more. */
    void close() {
      headSent.countDown();
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      if (end == null) {
        throw new IOException("the client left before the answer's head");
      }
      if (length == 0) {
        return;
      }
      try {
        if (chunked) {
          connection.output().writeChunk(bytes, offset, length);
        } else {
          connection.output().write(bytes, offset, length);
        }
      } catch (IOException e) {
        // The reading thread may learn it later, or never when it waits for room.
        connection.disconnected();
        throw e;
      }
    }
  }
}
