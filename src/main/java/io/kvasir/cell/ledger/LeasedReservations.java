package io.kvasir.cell.ledger;

import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.time.NanoClock;
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
import org.jspecify.annotations.Nullable;

/**
 * Reservations that other nodes hold in a cell's ledger, by the names those nodes gave them: closed when the node says
 * how it went, when the cluster removes the node, or when their lease ends, whichever comes first. What is booked for a
 * node after it has gone, or has given the question up, is closed at once: questions and that news come different ways.
 * Thread-safe: lines' threads hold what they book, the cell's actor does the rest.
 */
public final class LeasedReservations {
  /** So many notices, questions given up and nodes gone are remembered; what so many others overtake has been lost. */
  private static final int MAX_REMEMBERED = 10_000;

  private final long leaseNanos;
  private final NanoClock clock;
  private final Map<RemoteId, Lease> leases = new HashMap<>();

  /** Loads on workers that are not members yet, as when a cell has just come to its home. */
  private final Map<RemoteId, InFlightLoad> early = new HashMap<>();

  /** What has been heard of reservations that are not known, or not any more. */
  private final SequencedMap<RemoteId, Set<ReservationEvent.Kind>> earlyEvents = new LinkedHashMap<>();

  private final SequencedSet<RemoteId> abandoned = new LinkedHashSet<>();
  private final SequencedSet<String> removedNodes = new LinkedHashSet<>();

  /** What a node calls something: a reservation, or a question. */
  private record RemoteId(String node, long id) {}

  private record Lease(Reservation reservation, long expiresNanos) {}

  /** None yet. */
  public LeasedReservations(Duration lease, NanoClock clock) {
    this.leaseNanos = lease.toNanos();
    this.clock = clock;
  }

  /** Keeps a reservation for a node under the name it gave it, and does to it what has been heard of it. */
  public synchronized void hold(String node, long reservation, Reservation booked) {
    RemoteId name = new RemoteId(node, reservation);
    Set<ReservationEvent.Kind> before = earlyEvents.getOrDefault(name, Set.of());
    if (removedNodes.contains(node)
        || abandoned.contains(new RemoteId(node, CorrelationIds.of(reservation)))
        || before.contains(ReservationEvent.Kind.CLOSED)) {
      booked.close(new Outcome.Cancelled());
      return;
    }
    leases.put(name, new Lease(booked, clock.nanos() + leaseNanos));
    if (before.contains(ReservationEvent.Kind.LOCAL_PREFILL)) {
      booked.prefillLocally();
    }
    if (before.contains(ReservationEvent.Kind.FIRST_TOKEN)) {
      booked.firstToken();
    }
  }

  /**
   * Takes in what a node has in flight and the ledger does not know; nothing for what it knows.
   *
   * @param book books a load, null while its worker is not a member
   */
  public synchronized void adopt(String node, InFlightLoad load, Function<InFlightLoad, @Nullable Reservation> book) {
    RemoteId name = new RemoteId(node, load.reservation());
    if (!leases.containsKey(name)) {
      Reservation booked = book.apply(load);
      if (booked == null) {
        early.put(name, load);
      } else {
        hold(node, load.reservation(), booked);
      }
    }
  }

  /** Tries again what came before its worker did. */
  public synchronized void adoptEarly(Function<InFlightLoad, @Nullable Reservation> book) {
    early.entrySet().removeIf(entry -> {
      Reservation booked = book.apply(entry.getValue());
      if (booked != null) {
        hold(entry.getKey().node(), entry.getKey().id(), booked);
      }
      return booked != null;
    });
  }

  /** What a node says of a reservation; it is remembered of one that is not known yet, or is over. */
  public synchronized void apply(String node, ReservationEvent notice) {
    RemoteId name = new RemoteId(node, notice.reservation());
    early.computeIfPresent(name, (_, load) -> notice.applyTo(load));
    Lease found = notice.kind() == ReservationEvent.Kind.CLOSED ? leases.remove(name) : leases.get(name);
    if (found == null || notice.kind() == ReservationEvent.Kind.CLOSED) {
      remember(name, notice.kind());
    }
    if (found != null) {
      switch (notice.kind()) {
        case FIRST_TOKEN -> found.reservation().firstToken();
        case LOCAL_PREFILL -> found.reservation().prefillLocally();
        case CLOSED -> found.reservation().close(notice.finalOutcome());
      }
    }
  }

  private void remember(RemoteId name, ReservationEvent.Kind kind) {
    earlyEvents.computeIfAbsent(name, _ -> EnumSet.noneOf(ReservationEvent.Kind.class)).add(kind);
    if (earlyEvents.size() > MAX_REMEMBERED) {
      earlyEvents.pollFirstEntry();
    }
  }

  /** Closes what answers a question whose answer the node does not wait for any more. */
  public synchronized void abandon(String node, long ticket) {
    remember(abandoned, new RemoteId(node, ticket));
    closeIf((name, entry) -> name.node().equals(node) && CorrelationIds.of(name.id()) == ticket);
  }

  /** Closes all of a node that is gone. */
  public synchronized void closeAllOf(String node) {
    remember(removedNodes, node);
    early.keySet().removeIf(name -> name.node().equals(node));
    closeIf((name, entry) -> name.node().equals(node));
  }

  /** Closes those whose lease has ended. */
  public synchronized void expire() {
    long now = clock.nanos();
    closeIf((name, entry) -> now - entry.expiresNanos() >= 0);
  }

  private static <T> void remember(SequencedSet<T> remembered, T one) {
    remembered.addLast(one);
    if (remembered.size() > MAX_REMEMBERED) {
      remembered.removeFirst();
    }
  }

  private void closeIf(BiPredicate<RemoteId, Lease> which) {
    for (Iterator<Map.Entry<RemoteId, Lease>> entries = leases.entrySet().iterator(); entries.hasNext(); ) {
      Map.Entry<RemoteId, Lease> entry = entries.next();
      if (which.test(entry.getKey(), entry.getValue())) {
        entries.remove();
        entry.getValue().reservation().close(new Outcome.Cancelled());
      }
    }
  }
}
