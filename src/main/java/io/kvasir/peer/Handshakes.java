package io.kvasir.peer;

import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/**
 * The connections that have not shown yet that they come from a peer: few, and each for a short time, since anybody who
 * reaches the port can make them. Thread-safe.
 */
final class Handshakes {
  /** Peers take milliseconds each, so of more than this the one that has taken longest is nobody's loss. */
  static final int MAX = 64;

  /** How long a handshake may take in all. */
  static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final NanoClock clock;

  /** When each began, in that order. */
  private final SequencedMap<InboundConnection, Long> begunNanos = new LinkedHashMap<>();

  Handshakes(NanoClock clock) {
    this.clock = clock;
  }

  /** Begins a handshake; returns the connection to close in its stead, null while there are few. */
  synchronized @Nullable InboundConnection begin(InboundConnection connection) {
    begunNanos.put(connection, clock.nanos());
    Map.Entry<InboundConnection, Long> oldest = begunNanos.size() > MAX ? begunNanos.pollFirstEntry() : null;
    return oldest == null ? null : oldest.getKey();
  }

  /** Ends a handshake; nothing when it has ended. */
  synchronized void end(InboundConnection connection) {
    begunNanos.remove(connection);
  }

  synchronized boolean isEmpty() {
    return begunNanos.isEmpty();
  }

  /** The connections whose handshake takes too long. */
  synchronized List<InboundConnection> overdue() {
    long now = clock.nanos();
    return begunNanos.entrySet().stream()
        .filter(begun -> now - begun.getValue() >= TIMEOUT.toNanos())
        .map(Map.Entry::getKey)
        .toList();
  }
}
