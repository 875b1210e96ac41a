package io.kvasir.sim.text;

import java.io.Serial;

/** A text of which only so many characters can be read, one over and over again included. Used by one thread. */
final class BoundedText implements CharSequence {
  private static final int MOST_READS = 10_000_000;

  private final String text;
  private int reads;

  /** It was read too often. */
  static final class TooManyReads extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;
  }

  BoundedText(String text) {
    this.text = text;
  }

  @Override
  public int length() {
    return text.length();
  }

  @Override
  public char charAt(int index) {
    if (++reads > MOST_READS) {
      throw new TooManyReads();
    }
    return text.charAt(index);
  }

  @Override
  public CharSequence subSequence(int start, int end) {
    return text.subSequence(start, end);
  }

  @Override
  public String toString() {
    return text;
  }
}
