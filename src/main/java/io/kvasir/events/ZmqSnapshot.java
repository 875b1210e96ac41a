package io.kvasir.events;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One request for a snapshot: over an engine's replay socket ({@link SnapshotFormat#VLLM_50134}) or at one of its own
 * ({@link SnapshotFormat#VLLM_57789}). It waits for a slot of the node and keeps it until {@link #close}. An engine
 * that does not know the request at its replay socket takes its eight letters for a number that it has not reached, and
 * sends the end mark only. Belongs to a loop's thread.
 */
final class ZmqSnapshot implements ZmqReplay.ReplayOutput, ZmqStateRequest.StateOutput {
  /** An engine plans a million blocks in a fifth of a second, and has other work. */
  private static final long FIRST_NANOS = 10_000_000_000L;

  /** The number by which an engine says that it has no snapshot now. */
  private static final long UNAVAILABLE = -2;

  private final ZmqLoop loop;
  private final SnapshotSlots slots;
  private final SnapshotReader reader;
  private final long longestNanos;
  private final Runnable granted;
  private final SnapshotAssembly assembly = new SnapshotAssembly();
  private final ZmqLoop.Replay exchange;
  private long began;
  private boolean open;
  private boolean hasSlot;
  private boolean closed;

  /** The receiver of the outcome, which comes once, unless the request is ended before. */
  interface SnapshotReader {
    void snapshotRead(ZmqSnapshot request, EngineSnapshot snapshot);

    /**
     * There is none.
     *
     * @param known whether the engine may know the request
     */
    void snapshotFailed(ZmqSnapshot request, boolean known, String why);

    /** The request could not be made, such as for want of file descriptors. */
    void snapshotUnopened(ZmqSnapshot request, RuntimeException why);

    /** The request cannot go on. */
    void failed(RuntimeException why);
  }

  /**
   * A request that is not made yet.
   *
   * @param ownEndpoint whether the endpoint is for snapshots alone, or that of the replay
   * @param idleNanos how long nothing may come, once the first message has come, or while the engine is not reached
   * @param longestNanos how long the whole may take
   */
  ZmqSnapshot(
      ZmqLoop loop, SnapshotSlots slots, boolean ownEndpoint, String endpoint, long idleNanos, long longestNanos,
      SnapshotReader reader) {
    this.loop = loop;
    this.slots = slots;
    this.reader = reader;
    this.longestNanos = longestNanos;
    this.exchange =
        ownEndpoint
            ? new ZmqStateRequest(loop, endpoint, idleNanos, longestNanos, this)
            : new ZmqReplay(
                loop, endpoint, ZmqStateRequest.REQUEST, idleNanos, Math.max(idleNanos, FIRST_NANOS), idleNanos, this);
    this.granted = () -> loop.execute(this::open, this::failed);
  }

  /** Makes the request as soon as there is a slot. */
  void begin() {
    slots.acquire(granted);
  }

  private void open() {
    if (closed) {
      slots.release();
      return;
    }
    hasSlot = true;
    open = true;
    began = loop.clock().nanos();
    loop.begin(exchange);
  }

  @Override
  public boolean acceptsReplay() {
    return true;
  }

  @Override
  public void replayed(ZmqReplay round, long number, byte[] payload) {
    if (!open) {
      return;
    }
    String refused =
        loop.clock().nanos() - began > longestNanos
            ? "it did not end within " + longestNanos / 1_000_000_000 + " s"
            : assembly.add(number, payload, loop.metrics());
    if (refused != null) {
      fail(true, refused);
    }
  }

  @Override
  public void replayEnded(ZmqReplay round, boolean marked) {
    if (!open) {
      return;
    }
    if (!marked) {
      fail(true, assembly.isEmpty() ? "the engine did not answer" : "it came without its end");
    } else if (assembly.isEmpty()) {
      fail(false, "the engine does not know the request");
    } else {
      end();
      reader.snapshotRead(this, assembly.complete());
    }
  }

  @Override
  public void stateRead(long last, byte[] publisher, List<byte[]> chunks) {
    if (!open) {
      return;
    }
    if (last == UNAVAILABLE) {
      fail(true, "the engine has none now");
      return;
    }
    SnapshotAssembly state = SnapshotAssembly.ofState(last + 1, publisher);
    String refused = state.refusal();
    for (int i = 0; i < chunks.size() && refused == null; i++) {
      refused = state.add(last + 1, chunks.get(i), loop.metrics());
    }
    if (refused != null) {
      fail(true, refused);
    } else {
      end();
      reader.snapshotRead(this, state.complete());
    }
  }

  @Override
  public void stateFailed(String why) {
    fail(true, why);
  }

  @Override
  public void stateUnopened(RuntimeException why) {
    unopened(why);
  }

  @Override
  public void replayUnreached(ZmqReplay round) {
    fail(true, "the engine could not be reached");
  }

  @Override
  public void replayUnopened(ZmqReplay round, RuntimeException why) {
    unopened(why);
  }

  private void unopened(RuntimeException why) {
    if (open) {
      end();
      reader.snapshotUnopened(this, why);
    }
  }

  @Override
  public void failed(RuntimeException why) {
    reader.failed(why);
  }

  private void fail(boolean known, @Nullable String why) {
    if (open) {
      close();
      reader.snapshotFailed(this, known, String.valueOf(why));
    }
  }

  /** Closes the socket. */
  private void end() {
    if (open) {
      open = false;
      loop.end(exchange);
    }
  }

  /** Ends the request, and gives its slot to another; idempotent. */
  void close() {
    if (closed) {
      return;
    }
    closed = true;
    end();
    if (hasSlot) {
      slots.release();
    } else {
      // Where it has just been granted, open() gives it back.
      boolean _ = slots.cancel(granted);
    }
  }
}
