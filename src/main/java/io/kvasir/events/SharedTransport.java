package io.kvasir.events;

/** A part of a transport that the sources of several workers share, such as its connections. Thread-safe. */
public interface SharedTransport extends AutoCloseable {
  /** Completes the streams that use it, and those that are opened later. */
  @Override
  void close();
}
