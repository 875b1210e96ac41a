package io.kvasir.events;

import io.kvasir.telemetry.Problem;
import java.util.List;

/** A part of a transport that the sources of several workers share, such as its connections. Thread-safe. */
public interface SharedTransport extends AutoCloseable {
  /** What keeps streams from being up to date; empty when nothing does. */
  default List<Problem> problems() {
    return List.of();
  }

  /** Completes the streams that use it, and those that are opened later. */
  @Override
  void close();
}
