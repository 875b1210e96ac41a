package io.kvasir.picker;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The streams whose requests have neither gone to a worker nor been answered: when the picker stops they are to be
 * answered, as an end of their streams would be a 500 to their clients. Thread-safe.
 */
final class UndecidedStreams {
  /** One of them. */
  @FunctionalInterface
  interface Undecided {
    /** Answers the request, unless it has just gone or been answered. Does not wait. */
    void stop();
  }

  private final Set<Undecided> streams = ConcurrentHashMap.newKeySet();

  void add(Undecided stream) {
    streams.add(stream);
  }

  /** Idempotent. */
  void remove(Undecided stream) {
    streams.remove(stream);
  }

  /** Answers all of them that this router stops. */
  void stop() {
    streams.forEach(Undecided::stop);
  }
}
