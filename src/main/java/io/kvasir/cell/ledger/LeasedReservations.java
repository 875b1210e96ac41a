package io.kvasir.cell.ledger;

import io.kvasir.cell.Outcome;
import io.kvasir.cell.PrefixHold;
import io.kvasir.cell.Reservation;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
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
 * Reservations that other nodes hold in a cell's ledger, by the ids those nodes gave them: closed when the node sends
 * their outcome, when it declares that it has them no more, when the cluster removes the node, or when their lease
 * ends, whichever comes first. What is booked for a node after it was removed, or has abandoned the request, is closed
 * at once: those messages may overtake each other. Thread-safe: threads of peer connections hold what they book, the
 * cell's actor does the rest.
 */
public final class LeasedReservations {
  /** How many events, abandoned requests and removed nodes are remembered; an older one has lost its counterpart. */
  private static final int MAX_REMEMBERED = 10_000;

  private final long leaseNanos;
  private final NanoClock clock;
  private final Map<NodeScopedId, Lease> leases = new HashMap<>();

  /** Loads on workers that are not members yet, as when a cell has just come to its home. */
  private final Map<NodeScopedId, InFlightLoad> early = new HashMap<>();

  /** The events of reservations that are not known yet, or not any more. */
  private final SequencedMap<NodeScopedId, Set<ReservationEvent.Kind>> earlyEvents = new LinkedHashMap<>();

  private final SequencedSet<NodeScopedId> abandoned = new LinkedHashSet<>();
  private final SequencedSet<String> removedNodes = new LinkedHashSet<>();

  /** A node's id of a reservation, or of a request. */
  private record NodeScopedId(String node, long id) {}

  private record Lease(Reservation reservation, long expiresNanos) {}

  /** A ledger without reservations. */
  public LeasedReservations(Duration lease, NanoClock clock) {
    this.leaseNanos = lease.toNanos();
    this.clock = clock;
  }

  /** Holds a reservation for a node under the id it gave it, and applies the events that came before. */
  public synchronized void hold(String node, long reservation, Reservation booked) {
    NodeScopedId id = new NodeScopedId(node, reservation);
    Set<ReservationEvent.Kind> earlier = earlyEvents.getOrDefault(id, Set.of());
    if (removedNodes.contains(node)
        || abandoned.contains(new NodeScopedId(node, CorrelationIds.of(reservation)))
        || earlier.contains(ReservationEvent.Kind.CLOSED)) {
      booked.close(new Outcome.Cancelled());
      return;
    }
    leases.put(id, new Lease(booked, clock.nanos() + leaseNanos));
    if (earlier.contains(ReservationEvent.Kind.SENT)) {
      booked.sent();
    }
    if (earlier.contains(ReservationEvent.Kind.LOCAL_PREFILL)) {
      booked.prefillLocally();
    }
    if (earlier.contains(ReservationEvent.Kind.FIRST_TOKEN)) {
      booked.firstToken();
    }
  }

  /**
   * Takes in what a node has in flight and the ledger does not know; nothing for what it knows.
   *
   * @param book books a load, null while its worker is not a member
   */
  public synchronized void adopt(String node, InFlightLoad load, Function<InFlightLoad, @Nullable Reservation> book) {
    NodeScopedId id = new NodeScopedId(node, load.reservation());
    if (!leases.containsKey(id)) {
      Reservation booked = book.apply(load);
      if (booked == null) {
        early.put(id, load);
      } else {
        hold(node, load.reservation(), booked);
      }
    }
  }

  /** Adopts the loads that came before their workers, as far as those are members now. */
  public synchronized void adoptEarly(Function<InFlightLoad, @Nullable Reservation> book) {
    early.entrySet().removeIf(entry -> {
      Reservation booked = book.apply(entry.getValue());
      if (booked != null) {
        hold(entry.getKey().node(), entry.getKey().id(), booked);
      }
      return booked != null;
    });
  }

  /** Applies a node's event to its reservation; remembered where that is not known yet, or is over. */
  public synchronized void apply(String node, ReservationEvent event) {
    NodeScopedId id = new NodeScopedId(node, event.reservation());
    early.computeIfPresent(id, (_, load) -> event.applyTo(load));
    Lease found = event.kind() == ReservationEvent.Kind.CLOSED ? leases.remove(id) : leases.get(id);
    if (found == null || event.kind() == ReservationEvent.Kind.CLOSED) {
      remember(id, event.kind());
    }
    if (found != null) {
      switch (event.kind()) {
        case SENT -> found.reservation().sent();
        case FIRST_TOKEN -> found.reservation().firstToken();
        case LOCAL_PREFILL -> found.reservation().prefillLocally();
        case CLOSED -> found.reservation().close(event.finalOutcome());
      }
    }
  }

  /** Whether no node has anything in flight here, as far as is known. */
  public synchronized boolean isEmpty() {
    return leases.isEmpty() && early.isEmpty();
  }

  private void remember(NodeScopedId id, ReservationEvent.Kind kind) {
    earlyEvents.computeIfAbsent(id, _ -> EnumSet.noneOf(ReservationEvent.Kind.class)).add(kind);
    if (earlyEvents.size() > MAX_REMEMBERED) {
      earlyEvents.pollFirstEntry();
    }
  }

  /** How a node's request stands with earlier ones; {@link PrefixHold#UNKNOWN} where its reservation is not known. */
  public PrefixHold prefixHold(String node, long reservation) {
    Lease found;
    synchronized (this) {
      found = leases.get(new NodeScopedId(node, reservation));
    }
    return found == null ? PrefixHold.UNKNOWN : found.reservation().prefixHold();
  }

  /** Closes the reservations of a request whose reply the node does not wait for any more. */
  public synchronized void abandon(String node, long correlationId) {
    remember(abandoned, new NodeScopedId(node, correlationId));
    int _ = closeIf((id, entry) -> id.node().equals(node) && CorrelationIds.of(id.id()) == correlationId);
  }

  /** Closes all reservations of a node that was removed. */
  public synchronized void closeAllOf(String node) {
    remember(removedNodes, node);
    early.keySet().removeIf(id -> id.node().equals(node));
    int _ = closeIf((id, entry) -> id.node().equals(node));
  }

  /**
   * Renews the leases of the reservations that a node has open, and closes those that it has no more though their end
   * has not come.
   *
   * @return how many were closed
   */
  public synchronized int reconcile(String node, OpenReservations declared) {
    Set<Long> open = new HashSet<>(declared.reservations());
    early.keySet().removeIf(id -> isOver(id, node, declared, open));
    long expiresNanos = clock.nanos() + leaseNanos;
    leases.replaceAll(
        (id, lease) ->
            id.node().equals(node) && open.contains(id.id()) ? new Lease(lease.reservation(), expiresNanos) : lease);
    return closeIf((id, entry) -> isOver(id, node, declared, open));
  }

  private static boolean isOver(NodeScopedId id, String node, OpenReservations declared, Set<Long> open) {
    return id.node().equals(node) && declared.covers(id.id()) && !open.contains(id.id());
  }

  /** Closes those whose lease has ended; returns how many. */
  public synchronized int expire() {
    long now = clock.nanos();
    return closeIf((id, entry) -> now - entry.expiresNanos() >= 0);
  }

  private static <T> void remember(SequencedSet<T> remembered, T one) {
    remembered.addLast(one);
    if (remembered.size() > MAX_REMEMBERED) {
      remembered.removeFirst();
    }
  }

  private int closeIf(BiPredicate<NodeScopedId, Lease> which) {
    int before = leases.size();
    for (Iterator<Map.Entry<NodeScopedId, Lease>> entries = leases.entrySet().iterator(); entries.hasNext(); ) {
      Map.Entry<NodeScopedId, Lease> entry = entries.next();
      if (which.test(entry.getKey(), entry.getValue())) {
        entries.remove();
        entry.getValue().reservation().close(new Outcome.Cancelled());
      }
    }
    return before - leases.size();
  }
}
