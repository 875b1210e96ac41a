package io.kvasir.cell.ledger;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.ledger.ReservationLifecycle.State;
import io.kvasir.cell.worker.HitPrediction;
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
  private final boolean stallWatched;

  private final ReservationLifecycle lifecycle = new ReservationLifecycle();
  private volatile HitPrediction hitPrediction;
  private final LocalReservations local;
  private volatile @Nullable Reservation successor;

  /**
   * Takes over a booking that has been made on the member's load, and predicts what it leads to.
   *
   * @param held where it is kept while it is open
   */
  public BookedReservation(Member member, Selection.Chosen chosen, DecisionRequest request, LocalReservations held) {
    this.local = held;
    this.member = member;
    this.chosen = chosen;
    this.chain = request.chain();
    this.model = request.model();
    this.hitPrediction = chosen.readsPrompt() ? member.predict(chain, chosen.depth()) : HitPrediction.none(chain);
    this.stallWatched = request.stream() && chosen.readsPrompt() && answers();
    if (stallWatched) {
      member.health().stallDetector().streamStarted();
    }
  }

  /** What is expected of the worker so far. */
  public HitPrediction hitPrediction() {
    return hitPrediction;
  }

  @Override
  public void firstToken() {
    State was = lifecycle.settle();
    if (was == null) {
      return;
    }
    member.load().settle(pending(was));
    if (was == State.PENDING) {
      predictTransferred();
    }
    if (!stallWatched) {
      member.health().stallDetector().streamStarted();
    }
    member.progressed();
    Reservation next = successor;
    if (next != null) {
      next.firstToken();
    }
  }

  @Override
  public void progressed() {
    member.progressed();
    Reservation next = successor;
    if (next != null) {
      next.progressed();
    }
  }

  @Override
  public void prefillLocally() {
    Booking reading = chosen.reading();
    if (!chosen.readsPrompt() && lifecycle.prefillLocally()) {
      member.load().rebook(chosen.booking(), reading);
      hitPrediction = member.predict(chain, chosen.depth());
      Reservation next = successor;
      if (next != null) {
        next.prefillLocally();
      }
    }
  }

  /** The cell has left this node: its next home hears of this load as of those that other nodes have. */
  void moveTo(NextHome home) {
    Reservation next = home.takeOver(member.worker(), model, chosen.booking(), chosen.readsPrompt());
    // Before the state is read: what changes it from now on finds whom to tell.
    successor = next;
    switch (lifecycle.state()) {
      case PENDING -> {}
      case PREFILLING_LOCALLY -> next.prefillLocally();
      case SETTLED -> next.firstToken();
      case CLOSED -> next.close(new Outcome.Cancelled());
    }
  }

  @Override
  public void close(Outcome outcome) {
    State was = lifecycle.close();
    if (was == null) {
      return;
    }
    local.remove(this);
    Reservation next = successor;
    if (next != null) {
      next.close(outcome);
    }
    if (was != State.SETTLED) {
      member.load().settle(pending(was));
      if (!(outcome instanceof Outcome.Completed)) {
        hitPrediction.retract();
      } else if (was == State.PENDING) {
        predictTransferred();
      }
    } else if (outcome instanceof Outcome.Completed completed && chosen.readsPrompt()) {
      // Of an answer that came whole its first byte says nothing of its first token, nor does that of a prompt read
      // elsewhere say what reading it costs.
      member.prefillCompleted(chosen.booking(), chosen.queueMs(), completed);
    }
    member.load().release(chosen.booking());
    if (stallWatched || was == State.SETTLED) {
      member.health().stallDetector().streamEnded();
    }
    member.requestEnded(model, reported(outcome), chosen.booking().promptTokens(), hitPrediction);
  }

  /** What is pending of it before its first token. */
  private Booking pending(State before) {
    return before == State.PREFILLING_LOCALLY ? chosen.reading() : chosen.booking();
  }

  /** Predicts what has been handed over. */
  private void predictTransferred() {
    if (answers() && !chosen.readsPrompt()) {
      member.predictTransferred(chain, chosen.depth());
    }
  }

  private boolean answers() {
    return chosen.role() == Role.DECODE || chosen.role() == Role.BOTH;
  }

  /** What a step that does not answer the client generates says nothing of how long answers are. */
  private Outcome reported(Outcome outcome) {
    return outcome instanceof Outcome.Completed completed && !answers()
        ? new Outcome.Completed(
            completed.promptTokens(), completed.cachedTokens(), Outcome.UNKNOWN, completed.ttftMicros())
        : outcome;
  }
}
