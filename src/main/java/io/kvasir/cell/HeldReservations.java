package io.kvasir.cell;

import java.time.Duration;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Reservations that other nodes hold in a cell's ledger: closed when the node says how it went, when the
 * cluster removes the node, or when their lease ends, whichever comes first. Not thread-safe: the cell's
 * actor owns it.
 */
final class HeldReservations {
  private final long leaseNanos;
  private final LongSupplier nanos;
  private final Map<Long, Held> held = new HashMap<>();
  private long last;

  private record Held(String node, long ticket, Reservation reservation, long expiresNanos) {}

  HeldReservations(Duration lease, LongSupplier nanos) {
    this.leaseNanos = lease.toNanos();
    this.nanos = nanos;
    // A new incarnation of the cell must not take a late message for one of its own reservations.
    this.last = nanos.getAsLong() << 20;
  }

  /** Keeps a reservation that answers a node's question, and names it. */
  long hold(String node, long ticket, Reservation reservation) {
    long id = ++last;
    held.put(id, new Held(node, ticket, reservation, nanos.getAsLong() + leaseNanos));
    return id;
  }

  void firstToken(long id) {
    Held found = held.get(id);
    if (found != null) {
      found.reservation().firstToken();
    }
  }

  void readsPrompt(long id) {
    Held found = held.get(id);
    if (found != null) {
      found.reservation().readsPrompt();
    }
  }

  void close(long id, Outcome outcome) {
    close(held.remove(id), outcome);
  }

  /** Closes what answers a question whose answer the node does not wait for any more. */
  void abandon(String node, long ticket) {
    closeThose(entry -> entry.ticket() == ticket && entry.node().equals(node));
  }

  void closeAllOf(String node) {
    closeThose(entry -> entry.node().equals(node));
  }

  void expire() {
    long now = nanos.getAsLong();
    closeThose(entry -> now - entry.expiresNanos() >= 0);
  }

  private void closeThose(Predicate<Held> which) {
    for (Iterator<Held> entries = held.values().iterator(); entries.hasNext(); ) {
      Held entry = entries.next();
      if (which.test(entry)) {
        entries.remove();
        close(entry, new Outcome.Cancelled());
      }
    }
  }

  private static void close(@Nullable Held entry, Outcome outcome) {
    if (entry != null) {
      entry.reservation().close(outcome);
    }
  }
}
