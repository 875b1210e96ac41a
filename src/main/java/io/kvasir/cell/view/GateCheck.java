package io.kvasir.cell.view;

import io.kvasir.admission.AdmissionRefusal;
import io.kvasir.admission.Claim;
import io.kvasir.admission.Gate;
import io.kvasir.admission.HoldReason;
import io.kvasir.admission.Prospect;
import io.kvasir.admission.Standing;
import io.kvasir.admission.Verdict;
import io.kvasir.routing.PlanResult;
import io.kvasir.routing.QueueLimit;
import io.kvasir.routing.Selection;
import io.kvasir.routing.UnmetNeed;
import io.kvasir.routing.Worker;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * One look at what a request may expect: whether it is to go, by the gates of its cell. Workers that are all full hold
 * it, too; anything else that is missing is no reason to wait, unless it is to wait for workers. What the gates let be
 * queued at a worker the choice knows, too: it avoids one for which the request would be held, where another one begins
 * it earlier. Used by one thread.
 */
final class GateCheck implements Predicate<PlanResult>, QueueLimit {
  private final Engines engines;
  private final List<Gate> gates;
  private final String model;
  private final Claim claim;
  private final Standing standing;
  private final boolean waitsForWorkers;
  private final double mostQueueMs;
  private int uncachedTokens;
  private int promptTokens;
  private @Nullable AdmissionRefusal refusal;
  private HoldReason holdReason = HoldReason.TURN;
  private double queueMs;
  private @Nullable PlanResult planning;

  /** What is known of the engines of workers. Thread-safe. */
  interface Engines {
    /** Whether what is estimated of an engine is known or learnt. */
    boolean isCostKnown(Worker worker);

    /** Estimated milliseconds, of the work that is booked there as queued, which is probably done. */
    double readMs(int slot);

    /**
     * Estimated milliseconds of work that is queued at a worker now, as far as it is not probably done; infinite when
     * it cannot get requests for the model.
     */
    double queueMs(Worker worker, String model);

    /**
     * What all workers of a model have room for that do what one of them does.
     *
     * @param mostQueueMs free places count at that one and at workers that have no more queued
     */
    Places places(Worker one, String model, double mostQueueMs);
  }

  /**
   * Requests that workers may have in flight, all together.
   *
   * @param free of these, those that none has, at workers that would begin a request soon
   */
  record Places(int all, int free) {
    private static final Places NOT_COUNTED = new Places(0, 0);
  }

  /**
   * A look that has not begun.
   *
   * @param engines what is known of the workers' engines
   * @param model as the request names it
   * @param standing how it stands to the others that wait
   * @param waitsForWorkers whether it waits, too, while no worker can be reached
   */
  GateCheck(
      Engines engines, List<Gate> gates, String model, Claim claim, Standing standing, boolean waitsForWorkers) {
    this.engines = engines;
    this.gates = gates;
    this.model = model;
    this.claim = claim;
    this.standing = standing;
    this.waitsForWorkers = waitsForWorkers;
    this.mostQueueMs = mostQueueMs(standing);
  }

  private double mostQueueMs(Standing its) {
    double most = Double.POSITIVE_INFINITY;
    for (Gate gate : gates) {
      most = Math.min(most, gate.mostQueueMs(claim, its));
    }
    return most;
  }

  @Override
  public double queueMs(int slot, double bookedMs) {
    return Math.max(0, bookedMs - engines.readMs(slot));
  }

  @Override
  public boolean holds(Worker worker, double queued) {
    return queued > mostQueueMs && engines.isCostKnown(worker);
  }

  /** Why it is refused, null when it is not. */
  @Nullable AdmissionRefusal refusal() {
    return refusal;
  }

  /** Notes that its program waits for room, which says nothing of others. */
  void holdProgram() {
    holdReason = HoldReason.PROGRAM;
  }

  /** What it waits for, if it does not go. */
  HoldReason holdReason() {
    return holdReason;
  }

  /** Tokens that its worker would have to compute, 0 when no worker had room. */
  int uncachedTokens() {
    return uncachedTokens;
  }

  /** Tokens of its prompt, 0 when no worker had room. */
  int promptTokens() {
    return promptTokens;
  }

  /** With the class whose bounds hold, and with what it has waited by now. */
  Claim claim() {
    return claim;
  }

  /** Tenants for whom it would have to leave places. */
  int rivals() {
    return standing.rivals();
  }

  /** Estimated milliseconds of work that is queued at its worker before it; of no use when none had room. */
  double queueMs() {
    return queueMs;
  }

  /** The worker that it would get, if it would get one and no other beside it. */
  Selection.@Nullable Chosen onlyChosen() {
    return planning instanceof PlanResult.PlanFound found && found.chosen().size() == 1
        ? found.chosen().getFirst()
        : null;
  }

  /** Whether it would get a worker. */
  boolean takes(int slot) {
    if (planning instanceof PlanResult.PlanFound found) {
      for (Selection.Chosen chosen : found.chosen()) {
        if (chosen.slot() == slot) {
          return true;
        }
      }
    }
    return false;
  }

  /** Notes that what it would get is for a more urgent one. */
  void holdForOther() {
    holdReason = HoldReason.FULL;
  }

  @Override
  public boolean test(PlanResult planned) {
    planning = planned;
    return switch (planned) {
      case PlanResult.NoPlan none -> test(none.unmetNeed());
      case PlanResult.PlanFound found -> test(prospect(found));
    };
  }

  private boolean test(UnmetNeed need) {
    holdReason = need == UnmetNeed.ROOM ? HoldReason.FULL : HoldReason.WORKER;
    return need != UnmetNeed.ROOM && !(waitsForWorkers && need == UnmetNeed.LIVE);
  }

  private boolean test(Prospect prospect) {
    promptTokens = prospect.promptTokens();
    queueMs = prospect.queueMs();
    uncachedTokens = prospect.uncachedTokens();
    for (Gate gate : gates) {
      Verdict verdict = gate.check(claim, standing, prospect);
      switch (verdict) {
        case Verdict.Go _ -> {
          // The next gate may hold it.
        }
        case Verdict.Hold(HoldReason reason) -> {
          holdReason = reason;
          return false;
        }
        case Verdict.Refuse(AdmissionRefusal why) -> {
          refusal = why;
          return false;
        }
      }
    }
    return true;
  }

  /** The steps that compute the prompt follow one another, if there are several. */
  private Prospect prospect(PlanResult.PlanFound found) {
    int prompt = 1;
    int uncached = 1;
    double queueMs = 0;
    boolean known = true;
    for (int i = 0; i < found.chosen().size(); i++) {
      Selection.Chosen chosen = found.chosen().get(i);
      if (chosen.readsPrompt()) {
        prompt = chosen.booking().promptTokens();
        uncached = Math.max(uncached, chosen.booking().uncachedTokens());
        queueMs += queueMs(chosen.slot(), chosen.queueMs());
        known &= engines.isCostKnown(chosen.worker());
      }
    }
    Places places = places(found);
    return new Prospect(prompt, uncached, queueMs, known, places.all, places.free);
  }

  /**
   * At the step with the least room; the request's own places are taken already. They are counted for rivals only, and
   * those that rivals could have at once.
   */
  private Places places(PlanResult.PlanFound found) {
    Places least = Places.NOT_COUNTED;
    if (standing.rivals() > 0) {
      for (Selection.Chosen chosen : found.chosen()) {
        double mostMs = chosen.readsPrompt() ? mostQueueMs(Standing.ALONE) : Double.POSITIVE_INFINITY;
        Places its = engines.places(chosen.worker(), model, mostMs);
        least = least.all == 0 || its.free < least.free ? its : least;
      }
    }
    return least;
  }
}
