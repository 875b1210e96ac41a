package io.kvasir.gateway.http;

import io.kvasir.execution.Headers;
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

  private final Connection connection;
  private final Handler handler;
  private final AsyncCallback<HttpResponse> answered;
  private final HttpRequest request;
  private final String target;
  private final Headers headers;
  private final byte[] body;

  /** Guards the client's leaving against the answer's being complete: one of them comes first. */
  private final Object leaving = new Object();

  private @Nullable List<Runnable> onGone;
  private boolean gone;
  private boolean done;
  private volatile @Nullable Direct direct;

  RunningExchange(
      Connection connection,
      Handler handler,
      AsyncCallback<HttpResponse> answered,
      HttpRequest request,
      byte[] body) {
    this.connection = connection;
    this.handler = handler;
    this.answered = answered;
    this.request = request;
    this.target = Messages.target(request);
    this.headers = Messages.headers(request, body.length);
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
  public boolean clientGone() {
    synchronized (leaving) {
      return gone;
    }
  }

  @Override
  public void onClientGone(Runnable action) {
    synchronized (leaving) {
      if (done) {
        return;
      }
      if (!gone) {
        if (onGone == null) {
          onGone = new ArrayList<>(2);
        }
        onGone.add(action);
        return;
      }
    }
    action.run();
  }

  /** The client has left: whoever works for it should know. */
  void clientLeft() {
    List<Runnable> actions;
    synchronized (leaving) {
      if (done || gone) {
        return;
      }
      gone = true;
      actions = onGone;
      onGone = null;
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
    synchronized (leaving) {
      done = true;
      onGone = null;
    }
  }

  @Override
  public void run() {
    connection.exchangeBegins();
    try {
      answer();
    } finally {
      connection.exchangeEnds();
    }
  }

  private void answer() {
    Answer answer;
    try {
      answer = handler.handle(this);
    } catch (Exception | LinkageError | StackOverflowError e) {
      LOG.error("{} {} failed", method(), target, e);
      answer = handler.failure(target, 500, "the router failed to handle this request");
    }
    switch (answer) {
      case Answer.Whole whole when direct != null -> {
        // Its head has gone out as a stream's: the client is to see that this is not all of it.
        LOG.error("{} {} was answered whole after its stream had begun", method(), target);
        complete();
        connection.abort();
      }
      case Answer.Whole whole -> {
        connection.expectEnd();
        answered.invoke(Messages.response(whole, connection.isLastAnswer()));
      }
      case Answer.Streamed streamed -> stream(streamed);
    }
  }

  private void stream(Answer.Streamed answer) {
    Direct begun = direct;
    if (begun == null && (request.method().equals(HttpMethods.HEAD) || !Messages.allowsBody(answer.status()))) {
      connection.expectEnd();
      answered.invoke(Messages.response(answer, connection.isLastAnswer()));
      relay(answer.relay(), (bytes, offset, length) -> {});
      return;
    }
    Direct way = begun == null ? head(answer.status(), answer.headers()) : begun;
    boolean whole = relay(answer.relay(), way);
    AsyncCallback<Done> end = way.end;
    if (whole && end != null) {
      connection.expectEnd();
      end.invoke(Done.getInstance());
    } else {
      complete();
      connection.abort();
    }
  }

  @Override
  public Relay.Body begin(int status, Headers early) throws IOException {
    if (clientGone()) {
      throw new IOException("the client left before the answer's head");
    }
    return head(status, early);
  }

  /** Sends the head of a streamed answer and waits until it has left. */
  private Direct head(int status, Headers own) {
    Direct way = new Direct(!request.protocol().equals(HttpProtocols.HTTP_1_0));
    direct = way;
    answered.invoke(Messages.streamed(status, own, new RelaySource(way), connection.isLastAnswer()));
    connection.onUnwired(way.headLeft::countDown);
    try {
      way.headLeft.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return way;
  }

  private boolean relay(Relay relay, Relay.Body way) {
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
  final class Direct implements Relay.Body {
    private final CountDownLatch headLeft = new CountDownLatch(1);
    private final boolean chunked;
    private volatile @Nullable AsyncCallback<Done> end;

    Direct(boolean chunked) {
      this.chunked = chunked;
    }

    /** The head is on its way; {@code end} ends the body. */
    void open(AsyncCallback<Done> end) {
      this.end = end;
      headLeft.countDown();
    }

    /** The stream wants no body any more. */
    void close() {
      headLeft.countDown();
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
        connection.gone();
        throw e;
      }
    }
  }
}
