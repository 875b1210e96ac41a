package io.kvasir.cell.ledger;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.ledger.ReservationSteps.State;
import io.kvasir.cell.worker.Forecast;
import io.kvasir.cell.worker.Member;
import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Role;
import io.kvasir.routing.Selection;
import org.jspecify.annotations.Nullable;

/**
 * A reservation in the ledger of a cell that is at home on this node.
 *
 * <p>A worker that reads the prompt is predicted to have it from the beginning, since what comes after waits behind it
 * in the same engine. One that takes it from another has it when it has generated something: before that a request that
 * relies on it would have to read it all. Thread-safe.
 */
public final class BookedReservation implements Reservation {
  private final Member member;
  private final Selection.Chosen chosen;
  private final Chain chain;
  private final String model;

  /** Whether the worker's silence says something before the first token, too: it reads the prompt and streams. */
  private final boolean awaited;

  private final ReservationSteps steps = new ReservationSteps();
  private volatile Forecast forecast;
  private final HeldHere held;
  private volatile @Nullable Reservation heir;

  /**
   * Takes over a booking that has been made on the member's load, and predicts what it leads to.
   *
   * @param held where it is kept while it is open
   */
  public BookedReservation(Member member, Selection.Chosen chosen, DecisionRequest request, HeldHere held) {
    this.held = held;
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
  public Forecast forecast() {
    return forecast;
  }

  @Override
  public void firstToken() {
    State was = steps.settle();
    if (was == null) {
      return;
    }
    member.load().settle(pending(was));
    if (was == State.PENDING) {
      taken();
    }
    if (!awaited) {
      member.health().progress().streamBegun();
    }
    member.moved();
    Reservation next = heir;
    if (next != null) {
      next.firstToken();
    }
  }

  @Override
  public void moved() {
    member.moved();
    Reservation next = heir;
    if (next != null) {
      next.moved();
    }
  }

  @Override
  public void readsPrompt() {
    Booking reading = chosen.reading();
    if (!chosen.readsPrompt() && steps.read()) {
      member.load().rebook(chosen.booking(), reading);
      forecast = member.predict(chain, chosen.depth());
      Reservation next = heir;
      if (next != null) {
        next.readsPrompt();
      }
    }
  }

  /** The cell has left this node: its next home hears of this load as of those that other nodes have. */
  void moveTo(NextHome home) {
    Reservation next = home.goOn(member.worker(), model, chosen.booking(), chosen.readsPrompt());
    // Before the state is read: what changes it from now on finds whom to tell.
    heir = next;
    switch (steps.state()) {
      case PENDING -> {}
      case READING -> next.readsPrompt();
      case SETTLED -> next.firstToken();
      case CLOSED -> next.close(new Outcome.Cancelled());
    }
  }

  @Override
  public void close(Outcome outcome) {
    State was = steps.close();
    if (was == null) {
      return;
    }
    held.remove(this);
    Reservation next = heir;
    if (next != null) {
      next.close(outcome);
    }
    if (was != State.SETTLED) {
      member.load().settle(pending(was));
      if (!(outcome instanceof Outcome.Completed)) {
        forecast.retract();
      } else if (was == State.PENDING) {
        taken();
      }
    } else if (outcome instanceof Outcome.Completed completed && chosen.readsPrompt()) {
      // Of an answer that came whole its first byte says nothing of its first token, nor does that of a prompt read
      // elsewhere say what reading it costs.
      member.begun(chosen.booking(), chosen.queueMs(), completed);
    }
    member.load().release(chosen.booking());
    if (awaited || was == State.SETTLED) {
      member.health().progress().streamEnded();
    }
    member.ended(model, told(outcome), chosen.booking().promptTokens(), forecast);
  }

  /** What is pending of it before its first token. */
  private Booking pending(State before) {
    return before == State.READING ? chosen.reading() : chosen.booking();
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
