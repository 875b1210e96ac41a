package io.kvasir.execution.attempt;

import io.kvasir.cell.Outcome;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.http.ByteSink;
import io.kvasir.http.ChannelReader;
import io.kvasir.http.DuplexSink;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.WebSocketFrames;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodTunnel;
import java.io.IOException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A WebSocket between a client and its worker: the bytes of both directions pass as they come, and whoever is slow has
 * the other wait. The worker's bytes are relayed on a thread that does the same for others, as far as the client keeps
 * up; the client's on a virtual thread that lives as long as there are some. Frames are followed only to close it
 * between two of them, when the node stops or nothing has passed for long.
 */
final class WebSocketRelay implements StreamingBody {
  private static final int BUFFER_BYTES = 16 << 10;

  /** Codes of RFC 6455 §7.4.1 and its registry. */
  private static final int GOING_AWAY = 1001;

  private static final int BAD_GATEWAY = 1014;

  private final PodExchange exchange;
  private final Task task;
  private final PodTunnel worker;
  private final ExecutionMetrics metrics;
  private final Silence silence;

  /** Guards what the worker has sent. */
  private final ReentrantLock downLock = new ReentrantLock();

  private final WebSocketFrames down = new WebSocketFrames();

  /** Guards what the client has sent. */
  private final ReentrantLock upLock = new ReentrantLock();

  private final WebSocketFrames up = new WebSocketFrames();

  /** Arrivals that the thread which sends to the worker has not seen. */
  private final AtomicInteger arrivals = new AtomicInteger();

  /** Which of the two has sent a close frame first, null while none has. */
  private final AtomicReference<@Nullable String> closedBy = new AtomicReference<>();

  /** Why the router closes it, null while it does not. The first reason counts. */
  private volatile @Nullable Closing closing;

  private enum Closing {
    IDLE("idle", "nothing passed for too long"),
    STOPPING("stopping", "the router stops");

    private final String label;
    private final String text;

    Closing(String label, String text) {
      this.label = label;
      this.text = text;
    }
  }

  WebSocketRelay(PodExchange exchange, Task task, PodTunnel worker, ExecutionServices services) {
    this.exchange = exchange;
    this.task = task;
    this.worker = worker;
    this.metrics = services.metrics();
    this.silence = new Silence(services, this::tooLong);
  }

  @Override
  public void run(ByteSink sink) throws IOException {
    if (!(sink instanceof DuplexSink client)) {
      abandon();
      throw new IOException("this client's connection cannot leave HTTP");
    }
    metrics.webSocketOpened();
    String reason = "client_lost";
    Outcome outcome = new Outcome.Cancelled();
    try {
      client.listen(new ClientListener(client));
      silence.start();
      PodException cut = receive(client);
      reason = reason(cut);
      outcome = outcome(cut);
      finish(client, reason);
    } catch (IOException e) {
      if (closedBy.get() != null) {
        // Whoever has sent a close frame need not wait for the other's.
        reason = reason(null);
        outcome = exchange.completed(task);
      }
      throw e;
    } finally {
      silence.end();
      metrics.webSocketClosed(reason);
      exchange.streamEnded(task, outcome);
    }
  }

  /** Relays what the worker sends until one of the two ends, or the router closes; how the worker's end broke. */
  private @Nullable PodException receive(DuplexSink client) throws IOException {
    byte[] buffer = new byte[BUFFER_BYTES];
    try {
      worker.receive(buffer, new ClientReceiver(client, buffer));
      client.flush();
      return null;
    } catch (PodException e) {
      return e;
    }
  }

  /** Passes a piece to the client; whether more may follow. */
  private boolean relay(byte[] bytes, int length, ByteSink client) throws IOException {
    downLock.lock();
    try {
      int end = length;
      if (closing == null) {
        down.read(bytes, 0, length);
      } else {
        end = down.isBetween() ? 0 : down.readToEnd(bytes, 0, length);
      }
      if (end > 0) {
        client.write(bytes, 0, end);
        metrics.webSocketBytes("down", end);
      }
      if (down.isClosed() && closing == null) {
        closedBy.compareAndSet(null, "worker");
      }
    } finally {
      downLock.unlock();
    }
    silence.broken();
    exchange.progressed(task);
    return closing == null || !down.isBetween();
  }

  /** Closes it; what has not ended after one more such silence is cut: a frame that stopped half-way ends no more. */
  private void tooLong() {
    if (closing == null) {
      close(Closing.IDLE);
    } else {
      exchange.abort(AbortReason.NOT_NEEDED);
    }
  }

  /** Closes it, at once or after the frame in progress. Any thread; does not block. */
  private void close(Closing why) {
    if (closing != null) {
      return;
    }
    closing = why;
    // Who holds the lock sees the reason when it has released it.
    if (downLock.tryLock()) {
      try {
        if (down.isBetween()) {
          Thread.startVirtualThread(this::leaveWorker);
        }
      } finally {
        downLock.unlock();
      }
    }
  }

  /** Tells the worker that it is over, where that is possible between two frames, and ends the receiving. */
  private void leaveWorker() {
    Closing why = closing;
    try {
      if (why != null && upLock.tryLock()) {
        try {
          if (up.isBetween() && !up.isClosed()) {
            int mask = ThreadLocalRandom.current().nextInt(1, Integer.MAX_VALUE);
            byte[] frame = WebSocketFrames.close(GOING_AWAY, why.text, mask);
            up.read(frame, 0, frame.length);
            worker.send(frame, 0, frame.length);
          }
        } finally {
          upLock.unlock();
        }
      }
    } catch (IOException e) {
      // The worker has closed it already.
    } finally {
      exchange.abort(AbortReason.NOT_NEEDED);
    }
  }

  private String reason(@Nullable PodException cut) {
    Closing own = closing;
    String closed = closedBy.get();
    return closed != null ? closed
        : own != null ? own.label
        : cut != null && exchange.abortReason() != null ? "client_lost"
        : "worker_lost";
  }

  private Outcome outcome(@Nullable PodException cut) {
    return closing != null || closedBy.get() != null ? exchange.completed(task)
        : cut != null ? exchange.failed(cut)
        : new Outcome.Failed(true, "closed a WebSocket without a close frame");
  }

  /** Ends the client's side: with a close frame where the worker has sent none. */
  private void finish(DuplexSink client, String reason) throws IOException {
    if (reason.equals("client_lost")) {
      throw new IOException("the client disconnected");
    }
    if (down.isClosed()) {
      return;
    }
    if (!down.isBetween()) {
      throw new IOException("the worker ended in the middle of a frame");
    }
    Closing own = closing;
    byte[] frame =
        own != null
            ? WebSocketFrames.close(GOING_AWAY, own.text, 0)
            : WebSocketFrames.close(BAD_GATEWAY, "the worker's connection ended", 0);
    client.write(frame, 0, frame.length);
  }

  @Override
  public void abandon() {
    exchange.abort(AbortReason.NOT_NEEDED);
    exchange.streamEnded(task, new Outcome.Cancelled());
  }

  /** The client's side, as the worker's bytes go there. */
  private final class ClientReceiver implements PodTunnel.Receiver {
    private final DuplexSink client;
    private final byte[] buffer;

    /** Whether a piece may be written on a thread that others share. */
    private final boolean offers;

    /** The length of a piece that is to be written on the receiving thread. */
    private int held;

    ClientReceiver(DuplexSink client, byte[] buffer) {
      this.client = client;
      this.buffer = buffer;
      this.offers = client.canOffer();
    }

    @Override
    public ChannelReader.Next accept(int length) throws IOException {
      if (!worker.canStream()) {
        return relay(buffer, length, client) ? ChannelReader.Next.MORE : ChannelReader.Next.END;
      }
      if (!offers) {
        held = length;
        return ChannelReader.Next.PAUSE;
      }
      return !relay(buffer, length, client::offer) ? ChannelReader.Next.END
          : client.isBehind() ? ChannelReader.Next.PAUSE
          : ChannelReader.Next.MORE;
    }

    @Override
    public boolean catchUp() throws IOException {
      int length = held;
      held = 0;
      boolean more = length == 0 || relay(buffer, length, client);
      client.flush();
      return more;
    }
  }

  /** The client's side, as its bytes come from there. */
  private final class ClientListener implements DuplexSink.Listener {
    private final DuplexSink client;

    ClientListener(DuplexSink client) {
      this.client = client;
    }

    @Override
    public void available() {
      if (arrivals.getAndIncrement() == 0) {
        Thread.startVirtualThread(this::send);
      }
    }

    @Override
    public void shutDown() {
      close(Closing.STOPPING);
    }

    /** Sends all that has come to the worker, and waits for it. */
    private void send() {
      int seen = 1;
      try {
        do {
          for (byte[] bytes = client.take(); bytes != null; bytes = client.take()) {
            send(bytes);
          }
          seen = arrivals.addAndGet(-seen);
        } while (seen != 0);
      } catch (IOException e) {
        // The worker has closed the connection, which the receiving thread finds, too. Nothing more is sent: the count
        // of arrivals stays above zero.
      }
    }

    private void send(byte[] bytes) throws IOException {
      upLock.lock();
      try {
        if (closing != null && up.isBetween()) {
          return;
        }
        up.read(bytes, 0, bytes.length);
        if (up.isClosed()) {
          closedBy.compareAndSet(null, "client");
        }
        worker.send(bytes, 0, bytes.length);
        metrics.webSocketBytes("up", bytes.length);
      } finally {
        upLock.unlock();
      }
      silence.broken();
    }
  }
}
