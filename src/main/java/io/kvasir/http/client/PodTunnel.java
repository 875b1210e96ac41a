package io.kvasir.http.client;

import io.kvasir.http.ChannelReader;
import java.io.IOException;
import java.util.concurrent.Semaphore;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A pod's connection that has left HTTP. One thread receives and another may send meanwhile; {@link PodCall#abort} ends
 * both. Where the connection is not encrypted it is read by a thread that does the same for many.
 */
public final class PodTunnel {
  private final CallConnection connection;
  private final Function<IOException, PodException> broken;
  private final @Nullable Watched watched;

  /** What becomes of the pieces that a pod sends. */
  public interface Receiver {
    /**
     * Takes the first {@code length} bytes of the buffer. It must not block where {@link #canStream()}.
     *
     * @return {@code PAUSE} to have {@link #catchUp} called before more is read, {@code END} for nothing more
     * @throws IOException ends the receiving
     */
    ChannelReader.Next accept(int length) throws IOException;

    /** Lets what is slow catch up; on the receiving thread, so it may block. Whether it wants more. */
    boolean catchUp() throws IOException;
  }

  /**
   * A tunnel that begins behind an answer's head.
   *
   * @param broken ends the call whose connection it is; the exception has the reason
   */
  PodTunnel(CallConnection connection, Function<IOException, PodException> broken) {
    this.connection = connection;
    this.broken = broken;
    this.watched = connection instanceof PlainConnection plain ? new Watched(plain) : null;
  }

  /** Whether the pieces come on a thread that others share. */
  public boolean canStream() {
    return watched != null;
  }

  /**
   * Receives until the pod closes the connection, or the receiver wants nothing more. Once.
   *
   * @param buffer for one piece at a time
   * @throws PodException when the connection breaks, or was cut by {@link PodCall#abort}
   * @throws IOException what the receiver failed with
   */
  public void receive(byte[] buffer, Receiver receiver) throws IOException {
    if (watched != null) {
      watched.receive(buffer, receiver);
      return;
    }
    while (true) {
      int length = read(buffer);
      if (length < 0) {
        return;
      }
      switch (receiver.accept(length)) {
        case MORE -> {}
        case PAUSE -> {
          if (!receiver.catchUp()) {
            return;
          }
        }
        case END -> {
          return;
        }
      }
    }
  }

  private int read(byte[] buffer) throws PodException {
    try {
      return connection.buffered() > 0
          ? connection.take(buffer, 0, buffer.length)
          : connection.readDirectly(buffer, 0, buffer.length);
    } catch (IOException e) {
      throw broken.apply(e);
    }
  }

  /**
   * Sends bytes, and waits until the connection has taken them. One thread at a time.
   *
   * @throws IOException when the connection has ended
   */
  public void send(byte[] bytes, int offset, int length) throws IOException {
    connection.write(bytes, offset, length);
  }

  /** The connection as a loop reads it. */
  private final class Watched implements ChannelReader {
    private final PlainConnection plain;

    /** Wakes the receiving thread, after a pause or at the end. */
    private final Semaphore events = new Semaphore(0);

    private volatile byte[] buffer = new byte[0];
    private volatile @Nullable Receiver receiver;
    private volatile boolean ended;

    /** Whether the piece in the buffer is being caught up with: nothing may be read over it. */
    private volatile boolean paused;

    private volatile @Nullable IOException failure;

    /** What the receiver failed with, which is not the pod's failure. */
    private volatile @Nullable IOException ofReceiver;

    Watched(PlainConnection plain) {
      this.plain = plain;
    }

    void receive(byte[] into, Receiver to) throws IOException {
      buffer = into;
      receiver = to;
      handOver();
      events.acquireUninterruptibly();
      while (!ended) {
        if (!to.catchUp()) {
          return;
        }
        paused = false;
        plain.resume();
        events.acquireUninterruptibly();
      }
      IOException own = ofReceiver;
      if (own != null) {
        throw own;
      }
      IOException end = failure;
      if (end != null) {
        throw end instanceof PodException reported ? reported : broken.apply(end);
      }
    }

    private void handOver() throws PodException {
      try {
        plain.handTo(this);
      } catch (IOException e) {
        throw broken.apply(e);
      }
    }

    @Override
    public ChannelReader.Next read(ChannelReader.Buffers buffers) throws IOException {
      Receiver to = receiver;
      if (to == null || paused) {
        return ChannelReader.Next.PAUSE;
      }
      do {
        int length = PodTunnel.this.read(buffer);
        if (length <= 0) {
          return length < 0 ? ChannelReader.Next.END : ChannelReader.Next.MORE;
        }
        ChannelReader.Next next = accept(to, length);
        if (next != ChannelReader.Next.MORE) {
          return next;
        }
      } while (connection.buffered() > 0);
      return ChannelReader.Next.MORE;
    }

    private ChannelReader.Next accept(Receiver to, int length) throws IOException {
      try {
        ChannelReader.Next next = to.accept(length);
        if (next == ChannelReader.Next.PAUSE) {
          paused = true;
          events.release();
        }
        return next;
      } catch (IOException e) {
        ofReceiver = e;
        throw e;
      }
    }

    @Override
    public void ended(@Nullable IOException why) {
      failure = why;
      ended = true;
      events.release();
    }
  }
}
