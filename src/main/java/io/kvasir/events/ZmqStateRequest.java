package io.kvasir.events;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A request for an engine's whole state at a socket of its own ({@link SnapshotFormat#VLLM_57789}): a DEALER that sends
 * {@code ["", "snapshot"]} to the engine's ROUTER, as a REQ would, and is answered by one message. Belongs to a loop's
 * thread.
 */
final class ZmqStateRequest implements ZmqChannel.FrameHandler, ZmqLoop.Replay {
  /** Of a message; the engine puts some hundred thousand blocks into each. */
  private static final int MAX_FRAMES = 1 << 14;

  static final byte[] REQUEST = "snapshot".getBytes(StandardCharsets.US_ASCII);

  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private final ZmqLoop loop;
  private final String endpoint;
  private final long idleNanos;
  private final long longestNanos;
  private final StateOutput output;
  private @Nullable ZmqChannel channel;
  private volatile boolean reached;
  private boolean open;
  private long began;

  /** The receiver of the outcome, which comes once. */
  interface StateOutput {
    /**
     * The state.
     *
     * @param last number of the last live message that is in it, as the engine has it
     * @param publisher the engine's name of itself
     * @param chunks in order
     */
    void stateRead(long last, byte[] publisher, List<byte[]> chunks);

    /** There is none, for this reason. */
    void stateFailed(String why);

    /** The request could not be made, such as for want of file descriptors. */
    void stateUnopened(RuntimeException why);

    /** The request cannot go on. */
    void failed(RuntimeException why);
  }

  /**
   * A request that is not made yet.
   *
   * @param idleNanos how long the engine may take to be reached
   * @param longestNanos how long it may take to answer
   */
  ZmqStateRequest(ZmqLoop loop, String endpoint, long idleNanos, long longestNanos, StateOutput output) {
    this.loop = loop;
    this.endpoint = endpoint;
    this.idleNanos = idleNanos;
    this.longestNanos = longestNanos;
    this.output = output;
  }

  @Override
  public void open() {
    try {
      channel = loop.request(endpoint, REQUEST, this, () -> reached = true);
      began = loop.clock().nanos();
      open = true;
    } catch (RuntimeException failed) {
      loop.execute(() -> output.stateUnopened(failed), output::failed);
    }
  }

  @Override
  public void close() {
    if (channel != null) {
      loop.close(channel);
      channel = null;
    }
  }

  @Override
  public int maxFrames() {
    return MAX_FRAMES;
  }

  @Override
  public boolean ready() {
    return true;
  }

  @Override
  public long nanosLeft(long now) {
    return open ? began + (reached ? longestNanos : idleNanos) - now : Long.MAX_VALUE;
  }

  @Override
  public void timedOut() {
    output.stateFailed(reached ? "the engine did not answer" : "the engine could not be reached");
  }

  @Override
  public void message(byte[][] frames, int count) {
    if (count > frames.length) {
      output.stateFailed("it has more than " + frames.length + " parts");
    } else if (count < 3 || frames[0].length != 0 || frames[1].length != Long.BYTES) {
      loop.metrics().misframed();
      output.stateFailed("it is not framed as a snapshot");
    } else {
      output.stateRead((long) LONG.get(frames[1], 0), frames[2], List.of(Arrays.copyOfRange(frames, 3, count)));
    }
  }

  @Override
  public void failed(RuntimeException why) {
    output.failed(why);
  }
}
