package io.kvasir.cell;

import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Role;
import io.kvasir.routing.Selection;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A reservation in the ledger of a cell that is at home on this node.
 *
 * <p>A worker that reads the prompt is predicted to have it from the beginning, since what comes after waits behind it
 * in the same engine. One that takes it from another has it when it has generated something: before that a request that
 * relies on it would have to read it all. Thread-safe.
 */
final class BookedReservation implements Reservation {
  private static final int PENDING = 0;
  private static final int READING = 1;
  private static final int SETTLED = 2;
  private static final int CLOSED = 3;

  private final Member member;
  private final Selection.Chosen chosen;
  private final Chain chain;
  private final String model;

  /** Whether the worker's silence says something before the first token, too: it reads the prompt and streams. */
  private final boolean awaited;

  private final AtomicInteger state = new AtomicInteger(PENDING);
  private volatile Forecast forecast;

  /** Takes over a booking that has been made on the member's load, and predicts what it leads to. */
  BookedReservation(Member member, Selection.Chosen chosen, DecisionRequest request) {
    this.member = member;
    this.chosen = chosen;
    this.chain = request.chain();
    this.model = request.model();
    this.forecast = chosen.readsPrompt() ? member.predict(chain, chosen.depth()) : Forecast.none(chain);
    this.awaited = request.stream() && chosen.readsPrompt() && answers();
    if (awaited) {
      member.health().progress().streamBegun();
    }
  }

  /** What is expected of the worker so far. */
  Forecast forecast() {
    return forecast;
  }

  @Override
  public void firstToken() {
    if (state.compareAndSet(PENDING, SETTLED)) {
      member.load().settle(chosen.booking());
      taken();
    } else if (state.compareAndSet(READING, SETTLED)) {
      member.load().settle(chosen.reading());
    } else {
      return;
    }
    if (!awaited) {
      member.health().progress().streamBegun();
    }
    member.moved();
  }

  @Override
  public void moved() {
    member.moved();
  }

  @Override
  public void readsPrompt() {
    Booking reading = chosen.reading();
    if (!chosen.readsPrompt() && state.compareAndSet(PENDING, READING)) {
      member.load().rebook(chosen.booking(), reading);
      forecast = member.predict(chain, chosen.depth());
    }
  }

  @Override
  public void close(Outcome outcome) {
    int was = state.getAndSet(CLOSED);
    if (was == CLOSED) {
      return;
    }
    if (was == PENDING || was == READING) {
      member.load().settle(was == PENDING ? chosen.booking() : chosen.reading());
      if (!(outcome instanceof Outcome.Completed)) {
        forecast.retract();
      } else if (was == PENDING) {
        taken();
      }
    } else if (outcome instanceof Outcome.Completed completed && chosen.readsPrompt()) {
      // Of an answer that came whole its first byte says nothing of its first token, nor does that of a prompt read
      // elsewhere say what reading it costs.
      member.begun(chosen.booking(), chosen.queueMs(), completed);
    }
    member.load().release(chosen.booking());
    if (awaited || was == SETTLED) {
      member.health().progress().streamEnded();
    }
    member.ended(model, told(outcome), chosen.booking().promptTokens(), forecast);
  }

  /** Predicts what has been handed over. */
  private void taken() {
    if (answers() && !chosen.readsPrompt()) {
      member.predictTaken(chain, chosen.depth());
    }
  }

  private boolean answers() {
    return chosen.role() == Role.DECODE || chosen.role() == Role.BOTH;
  }

  /** What a step that does not answer the client generates says nothing of how long answers are. */
  private Outcome told(Outcome outcome) {
    return outcome instanceof Outcome.Completed completed && !answers()
        ? new Outcome.Completed(
            completed.promptTokens(), completed.cachedTokens(), Outcome.UNKNOWN, completed.ttftMicros())
        : outcome;
  }
}
