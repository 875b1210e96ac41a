package io.kvasir.cell;

import java.time.Duration;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reservations that other nodes hold in a cell's ledger, by the names those nodes gave them: closed when the node says
 * how it went, when the cluster removes the node, or when their lease ends, whichever comes first. Not thread-safe: the
 * cell's actor owns it.
 */
final class HeldReservations {
  private final long leaseNanos;
  private final LongSupplier nanos;
  private final Map<Name, Held> held = new HashMap<>();

  /** Loads on workers that are not members yet, as when a cell has just come to its home. */
  private final Map<Name, OpenLoad> early = new HashMap<>();

  private record Name(String node, long reservation) {}

  private record Held(Reservation reservation, long expiresNanos) {}

  HeldReservations(Duration lease, LongSupplier nanos) {
    this.leaseNanos = lease.toNanos();
    this.nanos = nanos;
  }

  /** Keeps a reservation for a node under the name it gave it. */
  void hold(String node, long reservation, Reservation booked) {
    held.put(new Name(node, reservation), new Held(booked, nanos.getAsLong() + leaseNanos));
  }

  /**
   * Takes in what a node has in flight and the ledger does not know; nothing for what it knows.
   *
   * @param book books a load, null while its worker is not a member
   */
  void adopt(String node, OpenLoad load, Function<OpenLoad, @Nullable Reservation> book) {
    Name name = new Name(node, load.reservation());
    if (!held.containsKey(name)) {
      Reservation booked = book.apply(load);
      if (booked == null) {
        early.put(name, load);
      } else {
        hold(node, load.reservation(), booked);
      }
    }
  }

  /** Tries again what came before its worker did. */
  void adoptEarly(Function<OpenLoad, @Nullable Reservation> book) {
    early.entrySet().removeIf(entry -> {
      Reservation booked = book.apply(entry.getValue());
      if (booked != null) {
        hold(entry.getKey().node(), entry.getKey().reservation(), booked);
      }
      return booked != null;
    });
  }

  void firstToken(String node, long reservation) {
    Name name = new Name(node, reservation);
    early.computeIfPresent(name, (same, load) -> load.begun());
    Held found = held.get(name);
    if (found != null) {
      found.reservation().firstToken();
    }
  }

  void readsPrompt(String node, long reservation) {
    Name name = new Name(node, reservation);
    early.computeIfPresent(name, (same, load) -> load.reading());
    Held found = held.get(name);
    if (found != null) {
      found.reservation().readsPrompt();
    }
  }

  void close(String node, long reservation, Outcome outcome) {
    Name name = new Name(node, reservation);
    early.remove(name);
    Held found = held.remove(name);
    if (found != null) {
      found.reservation().close(outcome);
    }
  }

  /** Closes what answers a question whose answer the node does not wait for any more. */
  void abandon(String node, long ticket) {
    closeThose((name, entry) -> name.node().equals(node) && Tickets.of(name.reservation()) == ticket);
  }

  void closeAllOf(String node) {
    early.keySet().removeIf(name -> name.node().equals(node));
    closeThose((name, entry) -> name.node().equals(node));
  }

  void expire() {
    long now = nanos.getAsLong();
    closeThose((name, entry) -> now - entry.expiresNanos() >= 0);
  }

  private void closeThose(BiPredicate<Name, Held> which) {
    for (Iterator<Map.Entry<Name, Held>> entries = held.entrySet().iterator(); entries.hasNext(); ) {
      Map.Entry<Name, Held> entry = entries.next();
      if (which.test(entry.getKey(), entry.getValue())) {
        entries.remove();
        entry.getValue().reservation().close(new Outcome.Cancelled());
      }
    }
  }
}
