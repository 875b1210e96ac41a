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
import io.kvasir.routing.Booking;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Role;
import io.kvasir.routing.Selection;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A reservation in the ledger of a cell whose home is this node: made by a decision, or {@linkplain #adopt adopted}
 * from another node that had it when the cell came here.
 *
 * <p>A worker that prefills is predicted to have the prompt from the beginning, since what comes after waits behind it
 * in the same engine. One that takes it from another, or pulls a part of it, has it when it has generated something:
 * before that a request that relies on it would have to read it all. Of an adopted load nothing is predicted, and it
 * teaches nothing of what prompts cost. Thread-safe.
 */
public final class BookedReservation implements Reservation {
  /** Longer than it takes to write a request, shorter than what computing its prompt again would cost. */
  private static final long MAX_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /** Between two looks at what an engine has computed meanwhile: nobody is notified of that. */
  private static final long FIRST_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private static final long LAST_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(16);

  private static final long NEVER = Long.MIN_VALUE;

  private final Member member;

  /** Without the worker that was to hand the prompt over once it is computed here after all. */
  private volatile ServedRequest served;

  /** As the worker's engine prepares the prompt; empty where nothing can be predicted of it. */
  private final Chain chain;

  /** As most engines prepare it, whatever can be predicted of it. */
  private final Chain prompt;

  /** Where the prompt is remembered once it has been served; null when it was adopted. */
  private final @Nullable SeenPrefixes seenPrefixes;

  private final Role role;

  /** Whether it takes a part of its prompt from another worker's memory. */
  private final boolean pulls;

  private final Booking booking;
  private final Booking localPrefill;
  private final int depth;
  private final double queueMs;

  /**
   * Whether the worker's silence counts before the first token, too: it computes the prompt and streams, or hands the
   * prompt over and waits for nobody.
   */
  private final boolean stallWatched;

  /**
   * Whether its first token may not be seen, as the worker reads the prompt and answers as a whole: while none was,
   * that the prompt has been read is estimated. Of an adopted load nobody tells.
   */
  private final boolean silent;

  /** The open reservations of this node's decisions; null when it was adopted. */
  private final @Nullable LocalReservations local;

  /** Whether its prompt is one of several: what its answer tells is not about the chain. */
  private final boolean ofBatch;

  /** Among those that others wait for; null where none count on it. */
  private final SendOrder.@Nullable Place place;

  /** Since when it is held, on the member's clock; {@link #NEVER} before. */
  private volatile long heldSince = NEVER;

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
    this.served = new ServedRequest(request.requestId(), request.model(), generates(chosen.role()), prefiller);
    this.prompt = request.prompt().chain();
    this.seenPrefixes = seenPrefixes;
    // Nothing is predicted of a rank that may not be the one, nor of blocks that events would never confirm.
    this.chain =
        request.shape().hidesRank(member.worker()) || member.pod().hides(request.model(), request.shape().salted())
            ? Chain.EMPTY
            : chosen.chain();
    this.role = chosen.role();
    this.pulls = chosen.pull() != null;
    this.booking = chosen.booking();
    this.localPrefill = chosen.localBooking();
    this.depth = chosen.depth();
    this.queueMs = chosen.queueMs();
    this.local = local;
    this.ofBatch = request.shape().severalPrompts();
    this.place = prefills() && chain.length() > 0 ? member.sendOrder().add(chain) : null;
    this.hitPrediction = !prefills() ? HitPrediction.none(chain) : pulls ? member.cache().held(chain) : predict();
    this.stallWatched = prefills() && (generates() ? request.stream() : !awaitsDecode(member));
    this.silent = !request.stream() && prefills() && generates();
    if (prefiller != null) {
      prefiller.beginHandOver();
    }
    if (prefills()) {
      member.beginReading(booking);
    }
    if (silent) {
      member.beginSilent(booking);
      member.health().stallDetector().answerStarted();
    }
    if (stallWatched) {
      member.health().stallDetector().streamStarted();
    }
  }

  private BookedReservation(Member member, String model, Booking booking, Booking localPrefill) {
    this.member = member;
    this.served = new ServedRequest(null, model, true, null);
    this.chain = Chain.EMPTY;
    this.prompt = Chain.EMPTY;
    this.seenPrefixes = null;
    this.role = Role.BOTH;
    this.pulls = false;
    this.booking = booking;
    this.localPrefill = localPrefill;
    this.depth = 0;
    this.queueMs = 0;
    this.local = null;
    this.ofBatch = false;
    this.place = null;
    this.hitPrediction = HitPrediction.none(chain);
    this.stallWatched = false;
    this.silent = prefills();
    if (silent) {
      member.beginSilent(booking);
    }
  }

  /**
   * Books a load that another node has in flight already, whether there is room for it or not.
   *
   * @param booking the load now
   * @param localPrefill the load when the worker reads the prompt itself; the same where it does anyway
   */
  public static BookedReservation adopt(Member member, String model, Booking booking, Booking localPrefill) {
    member.load().add(booking);
    return new BookedReservation(member, model, booking, localPrefill);
  }

  /** What is expected of the worker so far. */
  public HitPrediction hitPrediction() {
    return hitPrediction;
  }

  @Override
  public PrefixHold awaitEarlier(BooleanSupplier cancelled) {
    SendOrder.Place mine = place;
    if (mine == null || !countsOnEarlier()) {
      return PrefixHold.NONE;
    }
    try {
      if (sharesOnceComputed()) {
        return awaitComputed(mine, cancelled);
      }
      int confirmed = hitPrediction.confirmed();
      if (!mine.inquireEarlier(confirmed)) {
        return PrefixHold.NONE;
      }
      return mine.awaitEarlier(confirmed, MAX_WAIT_NANOS) ? PrefixHold.COMPUTED : PrefixHold.OVERDUE;
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
      return PrefixHold.CANCELLED;
    }
  }

  /** Waits until earlier requests have computed what it counts on, or will not, or should have long ago. */
  private PrefixHold awaitComputed(SendOrder.Place mine, BooleanSupplier cancelled) throws InterruptedException {
    long look = FIRST_LOOK_NANOS;
    int computed = hitPrediction.confirmed();
    PrefixHold hold = hold(mine, computed);
    if (hold == PrefixHold.NONE) {
      return hold;
    }
    while (hold == PrefixHold.HELD && !cancelled.getAsBoolean()) {
      boolean _ = mine.awaitEarlier(computed, look);
      look = Math.min(2 * look, LAST_LOOK_NANOS);
      computed = member.cache().reported(chain);
      hold = hold(mine, computed);
    }
    return switch (hold) {
      case NONE -> PrefixHold.COMPUTED;
      case HELD -> PrefixHold.CANCELLED;
      case COMPUTED, OVERDUE, UNKNOWN, CANCELLED -> hold;
    };
  }

  @Override
  public PrefixHold prefixHold() {
    SendOrder.Place mine = place;
    if (seenPrefixes == null) {
      // What was adopted may count on what nobody knows here.
      return PrefixHold.UNKNOWN;
    }
    if (mine == null || !countsOnEarlier()) {
      return PrefixHold.NONE;
    }
    int confirmed = hitPrediction.confirmed();
    if (sharesOnceComputed()) {
      return mine.hasEarlier(confirmed) ? hold(mine, member.cache().reported(chain)) : PrefixHold.NONE;
    }
    return mine.inquireEarlier(confirmed) ? hold(MAX_WAIT_NANOS) : PrefixHold.NONE;
  }

  /**
   * Whether it counts on blocks that its engine will confirm. Without events none ever are, so that all that begin
   * alike would wait for one another, always.
   */
  private boolean countsOnEarlier() {
    return hitPrediction.confirmed() < depth && member.cache().confirmsPredictions();
  }

  /**
   * Whether it is to be held now. It may be for as long as the worker may take for the prompts before it without
   * counting as stalled: what comes later than that the router does not count on elsewhere, either.
   *
   * @param computed leading blocks of its prompt that the engine has
   */
  private PrefixHold hold(SendOrder.Place mine, int computed) {
    return computed >= depth || !mine.hasEarlier(computed)
        ? PrefixHold.NONE
        : hold(member.health().stallDetector().longestSilence(queueMs));
  }

  private PrefixHold hold(long longestNanos) {
    long now = member.nanos();
    if (heldSince == NEVER) {
      heldSince = now;
    }
    return now - heldSince < longestNanos ? PrefixHold.HELD : PrefixHold.OVERDUE;
  }

  private boolean sharesOnceComputed() {
    return member.cache().sharesOnceComputed();
  }

  @Override
  public void onAwaited(Runnable inquiry) {
    if (place != null) {
      place.onAwaited(inquiry);
    }
  }

  @Override
  public void sent() {
    if (!sharesOnceComputed()) {
      leaveOrder();
    }
  }

  private void leaveOrder() {
    if (place != null) {
      place.leave();
    }
  }

  @Override
  public void firstToken() {
    State was = lifecycle.settle();
    if (was == null) {
      return;
    }
    leaveOrder();
    settle(was);
    if (was == State.PENDING) {
      predictTransferred();
    }
    if (!stallWatched) {
      member.health().stallDetector().streamStarted();
    }
    member.promptRead();
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
    if (!prefills() && lifecycle.prefillLocally()) {
      served = served.computing();
      member.load().rebook(booking, localPrefill);
      member.beginReading(localPrefill);
      if (local != null) {
        hitPrediction = predict();
      }
      Reservation next = successor;
      if (next != null) {
        next.prefillLocally();
      }
    }
  }

  /** Declares the load to the cell's next home, after the cell has left this node. */
  void moveTo(NextHome home) {
    Reservation next = home.takeOver(member.worker(), served.model(), booking, prefills());
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
    hitOutcome = member.requestEnded(served, reported(outcome), booking.promptTokens(), hitPrediction);
    if (seenPrefixes != null && prefills() && (was == State.SETTLED || outcome instanceof Outcome.Completed)) {
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
    if (local != null) {
      local.remove(this);
    }
    Reservation next = successor;
    if (next != null) {
      next.close(outcome);
    }
    if (was != State.SETTLED) {
      settle(was);
      if (!(outcome instanceof Outcome.Completed)) {
        hitPrediction.retract();
      } else if (was == State.PENDING) {
        predictTransferred();
      }
    } else if (outcome instanceof Outcome.Completed completed && prefills() && local != null
        && !ofBatch) {
      // The first byte of an answer that came whole is no measure of its first token, and that of a prompt computed
      // elsewhere is no measure of the prefill's cost.
      member.prefillCompleted(booking, queueMs, completed);
    }
    member.load().release(booking);
    if (stallWatched || was == State.SETTLED) {
      member.health().stallDetector().streamEnded();
    }
    return was;
  }

  private void settle(State was) {
    member.load().settle(pending(was));
    if (prefills() || was == State.PREFILLING_LOCALLY) {
      member.endReading();
    }
    if (silent) {
      member.load().endSilent(booking);
      if (seenPrefixes != null) {
        // Of an adopted load nobody has told that it began.
        member.health().stallDetector().answerEnded();
      }
    }
  }

  /** The booking that is pending before the first token. */
  private Booking pending(State before) {
    return before == State.PREFILLING_LOCALLY ? localPrefill : booking;
  }

  private HitPrediction predict() {
    return member.cache().predict(chain, depth, booking.promptTokens());
  }

  /** Predicts the blocks that have been handed over. */
  private void predictTransferred() {
    if (local != null && generates() && (pulls || !prefills())) {
      member.cache().predictTransferred(chain, depth, booking.promptTokens());
    }
  }

  /** Whether the worker computes the prompt itself; otherwise another one hands it over. */
  private boolean prefills() {
    return role != Role.ENCODE && booking.equals(localPrefill);
  }

  private static boolean awaitsDecode(Member prefill) {
    KvTransfer transfer = prefill.worker().kvTransfer();
    return transfer == null || transfer.dialect().prefillAwaitsDecode();
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
