package io.kvasir.cell.ledger;

import io.kvasir.cell.Outcome;
import org.jspecify.annotations.Nullable;

/**
 * What has become of a reservation that a cell's home holds for another node.
 *
 * @param reservation the node's name of it
 * @param kind what happened
 * @param outcome how it ended, when it has
 */
public record Notice(long reservation, Kind kind, @Nullable WireOutcome outcome) {
  /** What happened. */
  public enum Kind {
    /** The first token came. */
    FIRST_TOKEN,
    /** The prompt is not handed over to the worker after all. */
    READS_PROMPT,
    /** The request is over. */
    CLOSED
  }

  /** The first token came. */
  public static Notice firstToken(long reservation) {
    return new Notice(reservation, Kind.FIRST_TOKEN, null);
  }

  /** The prompt is not handed over to the worker after all. */
  public static Notice readsPrompt(long reservation) {
    return new Notice(reservation, Kind.READS_PROMPT, null);
  }

  /** The request is over. */
  public static Notice closed(long reservation, Outcome outcome) {
    return new Notice(reservation, Kind.CLOSED, WireOutcome.of(outcome));
  }

  /** A load as it is after this, null when it is over. */
  @Nullable OpenLoad of(OpenLoad load) {
    return switch (kind) {
      case FIRST_TOKEN -> load.begun();
      case READS_PROMPT -> load.reading();
      case CLOSED -> null;
    };
  }

  /** How it ended. */
  Outcome end() {
    return outcome == null ? new Outcome.Cancelled() : outcome.outcome();
  }
}
