package io.kvasir.execution.stream;

import java.util.Arrays;

/**
 * The bytes with which the documents of a stream begin alike: a document that begins with them need not be read up to
 * their end. One thread at a time.
 */
final class SharedHead {
  private static final int MOST = 512;

  private byte[] bytes = {};
  private int length;

  /** Whether {@code document[from, to)} begins so; not while nothing is kept. */
  boolean begins(byte[] document, int from, int to) {
    return length > 0 && to - from >= length && Arrays.equals(document, from, from + length, bytes, 0, length);
  }

  int length() {
    return length;
  }

  /** Keeps {@code document[from, to)} in its place, if it is not too long. */
  void keep(byte[] document, int from, int to) {
    if (to - from <= MOST) {
      if (bytes.length == 0) {
        bytes = new byte[MOST];
      }
      System.arraycopy(document, from, bytes, 0, to - from);
      length = to - from;
    }
  }
}
