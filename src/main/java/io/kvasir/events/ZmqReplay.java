package io.kvasir.events;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;
import org.zeromq.ZMQ.Socket;

/**
 * One round of replay: a DEALER that sends {@code ["", from]} to the engine's ROUTER and takes every message
 * from that number on until the end mark, or until nothing comes any more (the mark is lost when
 * the engine's pipe is full). A socket per round: its pipe is empty, so the first thousand messages get through,
 * and late answers to an earlier round are never taken for this one's. Receiving is unlimited, since a full pipe
 * makes the engine drop.
 *
 * <p>Answers are read from their end, {@code …, number, payload}: newer engines put the topic before them.
 * Belongs to a loop's thread.
 */
final class ZmqReplay implements ZmqChannel.FrameHandler {
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private final ZmqLoop loop;
  private final String endpoint;
  private final long from;
  private final long idleNanos;
  private final ZmqSubscription subscription;
  private @Nullable ZmqChannel channel;
  private boolean paused;
  private long deadline;

  ZmqReplay(ZmqLoop loop, String endpoint, long from, long idleNanos, ZmqSubscription link) {
    this.loop = loop;
    this.endpoint = endpoint;
    this.from = from;
    this.idleNanos = idleNanos;
    this.subscription = link;
  }

  void open() {
    Socket dealer = loop.socket(SocketType.DEALER);
    channel = loop.channel(dealer, this);
    dealer.setRcvHWM(0);
    dealer.connect(endpoint);
    byte[] start = new byte[Long.BYTES];
    LONG.set(start, 0, from);
    dealer.sendMore(new byte[0]);
    dealer.send(start);
    deadline = System.nanoTime() + idleNanos;
  }

  void close() {
    if (channel != null) {
      loop.close(channel);
      channel = null;
    }
  }

  /** While nobody takes what comes, silence says nothing. */
  @Override
  public boolean ready() {
    paused = !subscription.acceptsReplay();
    return !paused;
  }

  void resume() {
    if (paused && channel != null) {
      paused = false;
      deadline = System.nanoTime() + idleNanos;
      loop.resume(channel);
    }
  }

  long nanosLeft(long now) {
    return paused ? Long.MAX_VALUE : deadline - now;
  }

  void idle() {
    subscription.replayEnded(this, false);
  }

  @Override
  public void message(byte[][] frames, int count) {
    deadline = System.nanoTime() + idleNanos;
    if (count < 2 || count > frames.length || frames[count - 2].length != Long.BYTES) {
      loop.metrics().misframed();
      return;
    }
    byte[] payload = frames[count - 1];
    if (payload.length == 0) {
      subscription.replayEnded(this, true);
    } else {
      subscription.replayed(this, (long) LONG.get(frames[count - 2], 0), payload);
    }
  }

  @Override
  public void failed(RuntimeException why) {
    subscription.fail(why);
  }
}
