package io.kvasir.cell.view;

import io.kvasir.cell.Decision;

/** What came of a request's wait for its turn. */
public sealed interface TurnResult {
  /** A decision, which may be that there is no worker. */
  record Decided(Decision decision) implements TurnResult {}

  /** The cell has left this home: the next one is to decide. */
  record Moved() implements TurnResult {}

  /** The request was cancelled, and nothing is booked for it. */
  record Cancelled() implements TurnResult {}
}
