package io.kvasir.index;

import java.util.function.Consumer;

/** What was predicted of one prompt when it was sent to a worker. Thread-safe. */
public final class Prediction {
  /** {@link #confirmed}: not placed yet. */
  public static final int UNKNOWN = -1;

  private final Consumer<Prediction> worker;
  private final long[] hashes;
  private final long expiry;
  private long number;
  private int length;
  private int held;
  private volatile int confirmed = UNKNOWN;
  private volatile boolean retracted;

  Prediction(Consumer<Prediction> worker, long[] hashes, long expiry) {
    this.worker = worker;
    this.hashes = hashes;
    this.expiry = expiry;
  }

  /**
   * How many leading blocks of the prompt the engine itself had told of when this was predicted: what a search
   * found beyond them was only predicted. {@link #UNKNOWN} while it waits to be placed.
   */
  public int confirmed() {
    return confirmed;
  }

  /** How many leading blocks of the prompt a search found when this was predicted; {@link #UNKNOWN} as above. */
  public int held() {
    return confirmed == UNKNOWN ? UNKNOWN : held;
  }

  /** Whether every search that begins now sees it. */
  public boolean isPlaced() {
    return confirmed != UNKNOWN;
  }

  /**
   * Takes it back, because the request will not be computed there: what no other prediction relies on, and no
   * key has come to name, is not held any more. The first call counts. Never waits.
   */
  public void retract() {
    boolean first;
    synchronized (this) {
      first = !retracted;
      retracted = true;
    }
    if (first) {
      worker.accept(this);
    }
  }

  // For the worker's blocks, while they are being written.

  long[] hashes() {
    return hashes;
  }

  long expiry() {
    return expiry;
  }

  boolean isRetracted() {
    return retracted;
  }

  /** Its number among the worker's predictions. */
  long number() {
    return number;
  }

  /** How many blocks were placed. */
  int length() {
    return length;
  }

  void placed(long number, int length, int held, int confirmed) {
    this.number = number;
    this.length = length;
    this.held = held;
    this.confirmed = confirmed;
  }
}
