package io.kvasir.http.server;

import java.io.IOException;

/** A client's socket: read until its end, written by one thread at a time, closed by any. */
interface ClientSocket {
  /** Makes it ready to be read and written; may wait for the client. */
  void open() throws IOException;

  /** Reads all that comes into {@code input}; then runs {@code ended}, once, on a thread that may block. */
  void read(ClientInput input, Runnable ended);

  /** Goes on with reading, where the input had no room or waits for nothing more. */
  void resume();

  /** Whether {@link #offer} can be used. */
  boolean canOffer();

  /** Writes as many bytes as are taken at once; returns how many. */
  int offer(byte[] bytes, int offset, int length) throws IOException;

  /** Writes at least one byte, and waits until it can; returns how many. */
  int write(byte[] bytes, int offset, int length) throws IOException;

  /** Writes no more: the client sees the end. */
  void shutdownOutput() throws IOException;

  /** Closes it at once. Never waits. */
  void close() throws IOException;
}
