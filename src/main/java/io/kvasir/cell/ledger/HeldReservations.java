package io.kvasir.cell.ledger;

import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import java.time.Duration;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reservations that other nodes hold in a cell's ledger, by the names those nodes gave them: closed when the node says
 * how it went, when the cluster removes the node, or when their lease ends, whichever comes first. What is booked for a
 * node after it has gone, or has given the question up, is closed at once: questions and that news come different ways.
 * Thread-safe: lines' threads hold what they book, the cell's actor does the rest.
 */
public final class HeldReservations {
  /** So many notices, questions given up and nodes gone are remembered; what so many others overtake has been lost. */
  private static final int REMEMBERED = 10_000;

  private final long leaseNanos;
  private final LongSupplier nanos;
  private final Map<Name, Held> held = new HashMap<>();

  /** Loads on workers that are not members yet, as when a cell has just come to its home. */
  private final Map<Name, OpenLoad> early = new HashMap<>();

  /** What has been heard of reservations that are not known, or not any more. */
  private final SequencedMap<Name, Set<Notice.Kind>> heard = new LinkedHashMap<>();

  private final SequencedSet<Name> abandoned = new LinkedHashSet<>();
  private final SequencedSet<String> gone = new LinkedHashSet<>();

  /** What a node calls something: a reservation, or a question. */
  private record Name(String node, long reservation) {}

  private record Held(Reservation reservation, long expiresNanos) {}

  /** None yet. */
  public HeldReservations(Duration lease, LongSupplier nanos) {
    this.leaseNanos = lease.toNanos();
    this.nanos = nanos;
  }

  /** Keeps a reservation for a node under the name it gave it, and does to it what has been heard of it. */
  public synchronized void hold(String node, long reservation, Reservation booked) {
    Name name = new Name(node, reservation);
    Set<Notice.Kind> before = heard.getOrDefault(name, Set.of());
    if (gone.contains(node)
        || abandoned.contains(new Name(node, Tickets.of(reservation)))
        || before.contains(Notice.Kind.CLOSED)) {
      booked.close(new Outcome.Cancelled());
      return;
    }
    held.put(name, new Held(booked, nanos.getAsLong() + leaseNanos));
    if (before.contains(Notice.Kind.READS_PROMPT)) {
      booked.readsPrompt();
    }
    if (before.contains(Notice.Kind.FIRST_TOKEN)) {
      booked.firstToken();
    }
  }

  /**
   * Takes in what a node has in flight and the ledger does not know; nothing for what it knows.
   *
   * @param book books a load, null while its worker is not a member
   */
  public synchronized void adopt(String node, OpenLoad load, Function<OpenLoad, @Nullable Reservation> book) {
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
  public synchronized void adoptEarly(Function<OpenLoad, @Nullable Reservation> book) {
    early.entrySet().removeIf(entry -> {
      Reservation booked = book.apply(entry.getValue());
      if (booked != null) {
        hold(entry.getKey().node(), entry.getKey().reservation(), booked);
      }
      return booked != null;
    });
  }

  /** What a node says of a reservation; it is remembered of one that is not known yet, or is over. */
  public synchronized void hear(String node, Notice notice) {
    Name name = new Name(node, notice.reservation());
    early.computeIfPresent(name, (_, load) -> notice.of(load));
    Held found = notice.kind() == Notice.Kind.CLOSED ? held.remove(name) : held.get(name);
    if (found == null || notice.kind() == Notice.Kind.CLOSED) {
      remember(name, notice.kind());
    }
    if (found != null) {
      switch (notice.kind()) {
        case FIRST_TOKEN -> found.reservation().firstToken();
        case READS_PROMPT -> found.reservation().readsPrompt();
        case CLOSED -> found.reservation().close(notice.end());
      }
    }
  }

  private void remember(Name name, Notice.Kind kind) {
    heard.computeIfAbsent(name, _ -> EnumSet.noneOf(Notice.Kind.class)).add(kind);
    if (heard.size() > REMEMBERED) {
      heard.pollFirstEntry();
    }
  }

  /** Closes what answers a question whose answer the node does not wait for any more. */
  public synchronized void abandon(String node, long ticket) {
    remember(abandoned, new Name(node, ticket));
    closeThose((name, entry) -> name.node().equals(node) && Tickets.of(name.reservation()) == ticket);
  }

  /** Closes all of a node that is gone. */
  public synchronized void closeAllOf(String node) {
    remember(gone, node);
    early.keySet().removeIf(name -> name.node().equals(node));
    closeThose((name, entry) -> name.node().equals(node));
  }

  /** Closes those whose lease has ended. */
  public synchronized void expire() {
    long now = nanos.getAsLong();
    closeThose((name, entry) -> now - entry.expiresNanos() >= 0);
  }

  private static <T> void remember(SequencedSet<T> remembered, T one) {
    remembered.addLast(one);
    if (remembered.size() > REMEMBERED) {
      remembered.removeFirst();
    }
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
