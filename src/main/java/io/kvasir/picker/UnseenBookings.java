package io.kvasir.picker;

import io.kvasir.telemetry.RedactedException;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The load of requests whose answers nobody sees: each counts for the same time, so they end in the order in which they
 * have come. There are no more than requests begin in that time. Bookings are added by any thread and ended by one.
 */
final class UnseenBookings {
  private static final Logger LOG = LoggerFactory.getLogger(UnseenBookings.class);

  private final Queue<Booking> open = new ConcurrentLinkedQueue<>();
  private final long nanos;
  private final NanoClock clock;

  private record Booking(Runnable end, long due) {}

  /** Bookings that count for so long. */
  UnseenBookings(Duration time, NanoClock clock) {
    this.nanos = time.toNanos();
    this.clock = clock;
  }

  /** Keeps one from now on; {@code end} gives it back. */
  void add(Runnable end) {
    open.add(new Booking(end, clock.nanos() + nanos));
  }

  /** Ends those whose time is up. To be called regularly. */
  void endDue() {
    long now = clock.nanos();
    for (Booking first = open.peek(); first != null && now - first.due >= 0; first = open.peek()) {
      // All may be ended meanwhile, by who stops.
      if (open.remove(first)) {
        end(first);
      }
    }
  }

  /** Ends all of them. */
  void endAll() {
    for (Booking first = open.poll(); first != null; first = open.poll()) {
      end(first);
    }
  }

  private static void end(Booking booking) {
    try {
      booking.end.run();
    } catch (RuntimeException e) {
      LOG.error("load could not be given back", RedactedException.of(e));
    }
  }
}
