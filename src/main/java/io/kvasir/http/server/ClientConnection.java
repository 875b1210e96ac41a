package io.kvasir.http.server;

import io.kvasir.http.CancellationSource;
import io.kvasir.http.MemoryBudget;
import io.kvasir.telemetry.RedactedException;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.net.InetAddress;
import org.apache.pekko.Done;
import org.apache.pekko.stream.stage.AsyncCallback;
import org.apache.pekko.util.ByteString;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client's connection: its socket, what reads it, and what it is waiting for. Thread-safe but for the stream's
 * {@link #request}; the methods are grouped by the threads that call them.
 *
 * <p>It is always read, also while a request is being answered: so it is noticed at once that the client disconnects,
 * or at the next write when the client pipelines more than {@link ClientInput} reads ahead.
 *
 * <p>Writers take turns by the order of events, without a lock: Pekko writes a head or a whole answer, then, if
 * the answer is streamed, its body is written alone until it is done, then Pekko writes the end.
 */
final class ClientConnection implements Runnable, ClientInput.InputHandler, UpgradedConnection.Client {
  private static final Logger LOG = LoggerFactory.getLogger(ClientConnection.class);

  /** A pause on a connection that has left HTTP, in which it may be closed without harm. */
  private static final long QUIET_NANOS = 1_000_000_000L;

  /** The server whose connection it is. */
  interface Server {
    boolean isDraining();

    /** Starts the connection's stream. */
    void materialize(ClientConnection connection);

    /** The memory of all requests. */
    MemoryBudget memory();

    /** The longest body that is taken. */
    int maxBodyBytes();

    void exchangeStarted();

    void exchangeEnded();

    /** Counts a time limit that was exceeded, by the name of its phase. */
    void timedOut(String phase);

    /** The answer to a request that is refused for how it was sent. */
    Response.Buffered refusal(ArrivedRequest request, RequestFailure why);

    /** Notes a request whose connection is closed without an answer. */
    void unanswered(RequestFailure why);

    void connectionClosed(ClientConnection connection);
  }

  private final Server server;
  private final ClientSocket socket;
  private final InetAddress client;
  private final boolean beforeDrain;
  private final NanoClock clock;
  private final ConnectionStream stream = new ConnectionStream();
  private final StreamedRequest request = new StreamedRequest();
  private final AwaitedInput awaited;
  private final OpenExchange exchange;
  private final ProgressDeadline outputDeadline;
  private final ClientInput input;
  private final ClientOutput output;

  private volatile boolean closed;

  /** What it is from the answer 101 on. */
  private volatile @Nullable UpgradedConnection upgraded;

  /** Whether the next bytes from Pekko end an answer. */
  private volatile boolean ending;

  ClientConnection(
      Server server, HttpSettings settings, ClientSocket socket, InetAddress client, NanoClock clock) {
    this.server = server;
    this.socket = socket;
    this.client = client;
    this.clock = clock;
    this.awaited = new AwaitedInput(settings.timeouts(), clock);
    this.exchange = new OpenExchange(awaited);
    this.outputDeadline = new ProgressDeadline(clock);
    this.input = new ClientInput(this, server.memory(), socket::resume);
    this.output = new ClientOutput(socket, outputDeadline, settings.timeouts().writeLimits());
    this.beforeDrain = !server.isDraining();
  }

  InetAddress client() {
    return client;
  }

  MemoryBudget memory() {
    return server.memory();
  }

  @Override
  public boolean isClosed() {
    return closed;
  }

  // The thread that reads.

  /** Opens the connection and reads it, on a thread of its own as far as the socket needs one. */
  @Override
  public void run() {
    boolean opened = false;
    try {
      socket.open();
      server.materialize(this);
      stream.awaitStart();
      opened = true;
    } catch (IOException e) {
      LOG.debug("A connection from {} ended: {}", client(), e.toString());
    } catch (RuntimeException e) {
      LOG.error("A connection from {} failed", client(), RedactedException.of(e));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      if (!opened) {
        disconnected();
      }
    }
    if (opened) {
      socket.read(input, this::disconnected);
    }
  }

  @Override
  public boolean received(int bytes) {
    return awaited.received(bytes);
  }

  @Override
  public boolean awaitsBody() {
    return awaited.isBody();
  }

  @Override
  public @Nullable InboundStream inbound() {
    return stream.inbound();
  }

  // The stream's threads, one at a time.

  ClientInput input() {
    return input;
  }

  /** The request that the stream is at. */
  StreamedRequest request() {
    return request;
  }

  int maxBodyBytes() {
    return server.maxBodyBytes();
  }

  /** Whether requests that begin now are refused. */
  boolean refusesRequests() {
    return server.isDraining();
  }

  void streamStarted(InboundStream inbound) {
    stream.started(inbound);
  }

  void streamStopped() {
    stream.stopped();
    if (awaited.isClosing()) {
      input.wake();
    } else {
      abort();
    }
  }

  /** Notes that a part of the next request's head has come. */
  void headBegun() {
    awaited.headBegun();
  }

  /** Notes that Pekko has handed out a request. */
  void requestBegun() {
    request.begun();
    awaited.awaitNothing();
  }

  /** Starts the time limit for a body whose head has come: {@code failed} is called when it cannot be had whole. */
  void awaitBody(AsyncCallback<RefusedRequestException> failed) {
    exchange.awaitBody(failed);
  }

  /** Refuses the request whose body is being awaited, if one is. Any thread. */
  void failBody(RefusedRequestException why) {
    exchange.failBody(why);
  }

  /** Notes that no more is taken of a body that was awaited. */
  void bodyRefused() {
    awaited.awaitNothing();
    input.endLargeReads();
    input.stopFilling();
  }

  /** Notes that an exchange begins, which the client's disconnecting cancels; false when it has disconnected. */
  boolean startExchange(CancellationSource next) {
    boolean started = exchange.start(next);
    if (started) {
      input.endLargeReads();
    }
    return started;
  }

  /** Writes what Pekko has rendered; whether that was the end of an answer. */
  boolean write(ByteString bytes) throws IOException {
    boolean end = ending;
    if (end) {
      ending = false;
      // Before the write: a client that has read its answer may disconnect, which then cancels nothing.
      exchange.complete();
    }
    byte[] array = bytes.toArrayUnsafe();
    output.write(array, 0, array.length);
    if (end) {
      request.answered();
      awaited.awaitRequest();
    }
    return end;
  }

  /** Answers a request that Pekko has not handed out, and ends the connection. No exchange is in progress. */
  void refuse(String target, RefusedRequestException refusal) throws IOException {
    byte[] answer =
        PlainAnswer.render(server.refusal(ArrivedRequest.withoutHead(target, client), refusal.failure()));
    output.write(answer, 0, answer.length);
    finish();
  }

  /** Ends the connection of a request whose head is late, and cannot be answered. Any thread. */
  void abortUnanswered(RefusedRequestException late) {
    server.unanswered(late.failure());
    abort();
  }

  // The exchange's thread; the stream's, where that answers by itself.

  ClientOutput output() {
    return output;
  }

  void exchangeStarted() {
    server.exchangeStarted();
  }

  void exchangeEnded() {
    server.exchangeEnded();
  }

  /** Whether the answer to be given is the connection's last. */
  boolean closesAfterResponse() {
    return request.lacksBody() || server.isDraining();
  }

  /** Notes that what Pekko writes next is a whole answer, or the end of one. */
  void expectResponseEnd() {
    ending = true;
  }

  /**
   * Runs {@code action}, in place of an earlier one, once the stream has ended and nothing is written by it any more;
   * at once if it has. The stream's other end is no sign of that: on a connection's last answer it ends as soon as that
   * has been handed in, before its head has been written.
   */
  void onStreamStopped(Runnable action) {
    stream.onStopped(action);
  }

  /**
   * Has the connection leave HTTP, in the exchange that is in progress.
   *
   * @throws IOException when it has ended
   */
  UpgradedConnection upgrade() throws IOException {
    InboundStream inbound = inbound();
    if (inbound == null) {
      throw new IOException("the client disconnected");
    }
    UpgradedConnection next = new UpgradedConnection(this, input, output, inbound.upgraded()::invoke, clock);
    upgraded = next;
    return next;
  }

  // The server's threads, which look at all connections.

  /** Whether it is older than the server's drain, which therefore waits for it. */
  boolean predatesDrain() {
    return beforeDrain;
  }

  /** Has a connection that has left HTTP closed if nothing has passed on it for so long; whether it has left HTTP. */
  boolean shutDownIfQuiet(long quietNanos) {
    UpgradedConnection current = upgraded;
    if (current != null && !closed && current.quietNanos(clock.nanos()) >= quietNanos) {
      current.shutDown();
    }
    return current != null;
  }

  /**
   * Closes the connection if it has no request, or is in a pause after it has left HTTP; a request that has just come
   * is refused with a message.
   */
  void closeIfIdle() {
    if (!shutDownIfQuiet(QUIET_NANOS) && beforeDrain && !closed && awaited.awaitCloseIfIdle()) {
      shutdownOutput();
    }
  }

  /** For how many nanoseconds it has waited for a request of which nothing has come; negative when it does not. */
  long idleNanos(long now) {
    return awaited.idleNanos(now);
  }

  /** Closes the connection if it waits for a request of which nothing has come; whether it did. */
  boolean closeUnused() {
    boolean unused = awaited.awaitCloseIfIdle();
    if (unused) {
      abort();
    }
    return unused;
  }

  /** Ends what has taken too long. */
  void checkDeadlines(long now) {
    if (outputDeadline.excess(now) != null) {
      LOG.debug("{} does not read its answer: closed", client());
      server.timedOut("write");
      abort();
      return;
    }
    AwaitedInput.Late late = awaited.exceeded(now);
    if (late == null) {
      return;
    }
    switch (late.phase()) {
      case HEAD -> {
        server.timedOut("head");
        RefusedRequestException refusal = late.refusal("the request's head", ReachedLimit.Kind.HEAD_TIME);
        InboundStream inbound = inbound();
        if (inbound == null) {
          abortUnanswered(refusal);
        } else {
          // Not on this thread: the answer's write may wait.
          Thread.startVirtualThread(() -> inbound.refused().invoke(refusal));
        }
      }
      case BODY -> {
        server.timedOut("body");
        RefusedRequestException refusal = late.refusal("the request's body", ReachedLimit.Kind.BODY_TIME);
        Thread.startVirtualThread(() -> failBody(refusal));
      }
      case IDLE -> {
        server.timedOut("idle");
        abort();
      }
      case ANSWERING, LINGER -> abort();
    }
  }

  // Ends, on any thread.

  /** Ends a connection on which Pekko writes no more: lets the client read the last answer, then closes. */
  void finish() {
    if (!closed && awaited.awaitClose()) {
      shutdownOutput();
    }
  }

  private void shutdownOutput() {
    exchange.complete();
    input.wake();
    try {
      socket.shutdownOutput();
    } catch (IOException e) {
      abort();
    }
  }

  /** Ends everything: the client has disconnected, or the connection has ended otherwise. Idempotent. */
  @Override
  public void disconnected() {
    try {
      exchange.disconnect();
    } finally {
      abort();
      input.endLargeReads();
      InboundStream inbound = inbound();
      if (inbound != null) {
        inbound.ended().invoke(Done.getInstance());
      }
      server.connectionClosed(this);
    }
  }

  /** Whether {@link #disconnected} has been called: from then on nothing is written, whatever the socket would take. */
  @Override
  public boolean isDisconnected() {
    return exchange.isDisconnected();
  }

  /** Closes the socket at once; what reads it then ends everything else. Never waits. */
  void abort() {
    closed = true;
    try {
      socket.close();
    } catch (IOException e) {
      LOG.debug("Closing a connection from {} failed: {}", client(), e.toString());
    }
    input.wake();
  }
}
