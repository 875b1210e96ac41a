package io.kvasir.cell.ledger;

import io.kvasir.cell.Outcome;
import org.jspecify.annotations.Nullable;

/**
 * What has become of a reservation that a cell's home holds for another node.
 *
 * @param reservation the node's id of it
 * @param kind what happened
 * @param outcome how it ended, when it has
 */
public record ReservationEvent(long reservation, Kind kind, @Nullable WireOutcome outcome) {
  /** What happened. */
  public enum Kind {
    /** The request is written to its worker; notified only where the home has inquired after it. */
    SENT,
    /** The first token came. */
    FIRST_TOKEN,
    /** The prompt is not handed over to the worker after all. */
    LOCAL_PREFILL,
    /** The request is over. */
    CLOSED
  }

  /** The request is written to its worker. */
  public static ReservationEvent sent(long reservation) {
    return new ReservationEvent(reservation, Kind.SENT, null);
  }

  /** The first token came. */
  public static ReservationEvent firstToken(long reservation) {
    return new ReservationEvent(reservation, Kind.FIRST_TOKEN, null);
  }

  /** The prompt is not handed over to the worker after all. */
  public static ReservationEvent localPrefill(long reservation) {
    return new ReservationEvent(reservation, Kind.LOCAL_PREFILL, null);
  }

  /** The request is over. */
  public static ReservationEvent closed(long reservation, Outcome outcome) {
    return new ReservationEvent(reservation, Kind.CLOSED, WireOutcome.of(outcome));
  }

  /** A load as it is after this, null when it is over. */
  @Nullable InFlightLoad applyTo(InFlightLoad load) {
    return switch (kind) {
      case SENT -> load;
      case FIRST_TOKEN -> load.begun();
      case LOCAL_PREFILL -> load.withLocalPrefill();
      case CLOSED -> null;
    };
  }

  /** How it ended. */
  Outcome finalOutcome() {
    return outcome == null ? new Outcome.Cancelled() : outcome.outcome();
  }
}
