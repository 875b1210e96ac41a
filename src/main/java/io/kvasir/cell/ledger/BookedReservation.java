package io.kvasir.cell.ledger;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.HitOutcome;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PrefixHold;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.ledger.ReservationLifecycle.State;
import io.kvasir.cell.worker.HitPrediction;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.SendOrder;
import io.kvasir.cell.worker.ServedRequest;
import io.kvasir.cell.worker.WorkerHealth;
import io.kvasir.index.Chain;
import io.kvasir.index.SeenPrefixes;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Role;
import io.kvasir.routing.Selection;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A reservation in the ledger of a cell whose home is this node, made by a decision there.
 *
 * <p>A worker that prefills is predicted to have the prompt from the beginning, since what comes after waits behind it
 * in the same engine. One that takes it from another, or pulls a part of it, has it when it has generated something:
 * before that a request that relies on it would have to read it all. Thread-safe.
 */
public final class BookedReservation implements Reservation {
  private final Member member;
  private final BookedLoad load;

  /** Without the worker that was to hand the prompt over once it is computed here after all. */
  private volatile ServedRequest served;

  /** As the worker's engine prepares the prompt; empty where nothing can be predicted of it. */
  private final Chain chain;

  /** As most engines prepare it, whatever can be predicted of it. */
  private final Chain prompt;

  /** Where the prompt is remembered once it has been served. */
  private final SeenPrefixes seenPrefixes;

  private final Role role;

  /** Whether it takes a part of its prompt from another worker's memory. */
  private final boolean pulls;

  private final int depth;
  private final double queueMs;

  /** The open reservations of this node's decisions. */
  private final LocalReservations local;

  /** Whether its prompt is one of several: what its answer tells is not about the chain. */
  private final boolean ofBatch;

  /** Null where it counts on none, and none on it. */
  private final @Nullable EarlierRequests earlier;

  private final ReservationLifecycle lifecycle = new ReservationLifecycle();
  private volatile HitPrediction hitPrediction;
  private volatile @Nullable HitOutcome hitOutcome;
  private volatile @Nullable Reservation successor;

  /**
   * Takes over a booking that has been made on the member's load, and predicts what it leads to.
   *
   * @param prefiller health of the worker whose KV blocks this one is to receive; null where it computes the prompt
   * @param local keeps it while it is open if it is a request of this node
   * @param seenPrefixes gets the prompt when it has been served: not before, since nobody waits for that
   */
  public BookedReservation(
      Member member,
      Selection.Chosen chosen,
      DecisionRequest request,
      @Nullable WorkerHealth prefiller,
      LocalReservations local,
      SeenPrefixes seenPrefixes) {
    this.member = member;
    this.role = chosen.role();
    this.served = new ServedRequest(request.requestId(), request.model(), generates(), prefiller);
    this.prompt = request.prompt().chain();
    this.seenPrefixes = seenPrefixes;
    // Nothing is predicted of a rank that may not be the one, nor of blocks that events would never confirm.
    this.chain =
        request.shape().hidesRank(member.worker()) || member.pod().hides(request.model(), request.shape().salted())
            ? Chain.EMPTY
            : chosen.chain();
    this.pulls = chosen.pull() != null;
    this.depth = chosen.depth();
    this.queueMs = chosen.queueMs();
    this.local = local;
    this.ofBatch = request.shape().severalPrompts();
    boolean prefills = role != Role.ENCODE && chosen.booking().equals(chosen.localBooking());
    BookedLoad.Answer answer = answer(member, role, prefills, request.stream());
    this.load = new BookedLoad(member, chosen.booking(), chosen.localBooking(), prefills, answer);
    // Before its blocks are predicted: whoever counts on those is to find it.
    SendOrder.Place place = prefills && chain.length() > 0 ? member.sendOrder().add(chain) : null;
    HitPrediction prediction =
        !prefills ? HitPrediction.none(chain) : pulls ? member.cache().held(chain) : predict();
    this.hitPrediction = prediction;
    this.earlier = place == null ? null : new EarlierRequests(member, chain, place, prediction, depth, queueMs);
    if (prefiller != null) {
      prefiller.beginHandOver();
    }
    load.begin();
  }

  private static BookedLoad.Answer answer(Member member, Role role, boolean prefills, boolean stream) {
    if (!prefills) {
      return BookedLoad.Answer.UNWATCHED;
    }
    if (generates(role)) {
      return stream ? BookedLoad.Answer.STREAMED : BookedLoad.Answer.WHOLE;
    }
    return awaitsDecode(member) ? BookedLoad.Answer.UNWATCHED : BookedLoad.Answer.STREAMED;
  }

  private static boolean awaitsDecode(Member prefill) {
    KvTransfer transfer = prefill.worker().kvTransfer();
    return transfer == null || transfer.dialect().prefillAwaitsDecode();
  }

  /** What is expected of the worker so far. */
  public HitPrediction hitPrediction() {
    return hitPrediction;
  }

  @Override
  public PrefixHold awaitEarlier(BooleanSupplier cancelled) {
    return earlier == null ? PrefixHold.NONE : earlier.await(cancelled);
  }

  @Override
  public PrefixHold prefixHold() {
    return earlier == null ? PrefixHold.NONE : earlier.hold();
  }

  @Override
  public void onAwaited(Runnable inquiry) {
    if (earlier != null) {
      earlier.onAwaited(inquiry);
    }
  }

  @Override
  public void sent() {
    if (earlier != null) {
      earlier.sent();
    }
  }

  private void leaveOrder() {
    if (earlier != null) {
      earlier.leave();
    }
  }

  @Override
  public void firstToken() {
    State was = lifecycle.settle();
    if (was == null) {
      return;
    }
    leaveOrder();
    load.settle(was);
    if (was == State.PENDING) {
      predictTransferred();
    }
    load.answerBegun();
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
    if (!load.prefills() && lifecycle.prefillLocally()) {
      served = served.computing();
      load.prefillLocally();
      hitPrediction = predict();
      Reservation next = successor;
      if (next != null) {
        next.prefillLocally();
      }
    }
  }

  /** Declares the load to the cell's next home, after the cell has left this node. */
  void moveTo(NextHome home) {
    Reservation next = home.takeOver(member.worker(), served.model(), load.booking(), load.prefills());
    // Before the state is read: what changes it from now on finds the successor.
    successor = next;
    switch (lifecycle.state()) {
      case PENDING -> {}
      case PREFILLING_LOCALLY -> next.prefillLocally();
      case SETTLED -> next.firstToken();
      case CLOSED -> next.close(new Outcome.Cancelled());
    }
  }

  @Override
  public @Nullable HitOutcome hitOutcome() {
    return hitOutcome;
  }

  /** Takes it back before its request knows of it: it has not been sent, and counts nowhere. */
  public void withdraw() {
    State _ = end(new Outcome.Cancelled());
  }

  @Override
  public void close(Outcome outcome) {
    State was = end(outcome);
    if (was == null) {
      return;
    }
    hitOutcome = member.requestEnded(served, reported(outcome), load.booking().promptTokens(), hitPrediction);
    if (load.prefills() && (was == State.SETTLED || outcome instanceof Outcome.Completed)) {
      seenPrefixes.add(prompt);
    }
  }

  /** Gives back what it holds. Returns the state before, null when it was over. */
  private @Nullable State end(Outcome outcome) {
    State was = lifecycle.close();
    if (was == null) {
      return null;
    }
    leaveOrder();
    local.remove(this);
    Reservation next = successor;
    if (next != null) {
      next.close(outcome);
    }
    if (was != State.SETTLED) {
      load.settle(was);
      if (!(outcome instanceof Outcome.Completed)) {
        hitPrediction.retract();
      } else if (was == State.PENDING) {
        predictTransferred();
      }
    } else if (outcome instanceof Outcome.Completed completed && load.prefills() && !ofBatch) {
      // The first byte of an answer that came whole is no measure of its first token, and that of a prompt computed
      // elsewhere is no measure of the prefill's cost.
      member.prefillCompleted(load.booking(), queueMs, completed);
    }
    load.release(was);
    return was;
  }

  private HitPrediction predict() {
    return member.cache().predict(chain, depth, load.booking().promptTokens());
  }

  /** Predicts the blocks that have been handed over. */
  private void predictTransferred() {
    if (generates() && (pulls || !load.prefills())) {
      member.cache().predictTransferred(chain, depth, load.booking().promptTokens());
    }
  }

  /** Whether the worker's answer is the client's. */
  private boolean generates() {
    return generates(role);
  }

  private static boolean generates(Role role) {
    return role == Role.DECODE || role == Role.BOTH;
  }

  /**
   * Without the answer's tokens for a step that does not answer the client, for they are no measure of answers' length,
   * and without what was cached for a batch.
   */
  private Outcome reported(Outcome outcome) {
    return outcome instanceof Outcome.Completed completed && (!generates() || ofBatch)
        ? new Outcome.Completed(
            completed.promptTokens(),
            ofBatch ? Outcome.UNKNOWN : completed.cachedTokens(),
            generates() ? completed.outputTokens() : Outcome.UNKNOWN,
            completed.ttftMicros())
        : outcome;
  }
}
