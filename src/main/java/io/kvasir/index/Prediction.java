package io.kvasir.index;

import java.util.function.Consumer;

/** A prediction that a worker will hold the blocks of one prompt, made when the prompt is sent there. Thread-safe. */
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
   * The number of the prompt's leading blocks that the engine itself had reported when this was predicted: what a
   * search found beyond them was only predicted. {@link #UNKNOWN} until it is placed.
   */
  public int confirmed() {
    return confirmed;
  }

  /** The number of the prompt's leading blocks that were held or predicted before; {@link #UNKNOWN} until placed. */
  public int held() {
    return confirmed == UNKNOWN ? UNKNOWN : held;
  }

  /** Whether it is placed: every search that begins now finds it. */
  public boolean isPlaced() {
    return confirmed != UNKNOWN;
  }

  /**
   * Retracts it, because the request will not be computed there: blocks that no other prediction includes, and that no
   * key names by now, are no longer held. The first call counts. Never waits.
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

  // For the worker's blocks only, under their lock.

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
