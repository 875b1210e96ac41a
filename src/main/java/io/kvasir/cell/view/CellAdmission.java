package io.kvasir.cell.view;

import io.kvasir.admission.AdmissionMetrics;
import io.kvasir.admission.AdmissionRefusal;
import io.kvasir.admission.AdmissionSettings;
import io.kvasir.admission.Claim;
import io.kvasir.admission.ClassStatus;
import io.kvasir.admission.EngineQueueGate;
import io.kvasir.admission.Gate;
import io.kvasir.admission.KeptPlacesGate;
import io.kvasir.admission.ModelBacklog;
import io.kvasir.admission.ServiceClass;
import io.kvasir.admission.Standing;
import io.kvasir.admission.TurnKeeper;
import io.kvasir.admission.WaitingRoom;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.ledger.ReportedReservation;
import io.kvasir.http.Cancellation;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.time.NanoClock;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Decisions of a cell for requests that may have to wait. While nobody waits a request goes at once, if the gates let
 * it; otherwise it gets a place in the {@link WaitingRoom}, whose {@link TurnKeeper} tries again in turn. Thread-safe.
 */
public final class CellAdmission implements AutoCloseable {
  private final String cell;
  private final CellDecider decider;
  private final GateCheck.Engines engines;
  private final List<Gate> gates;
  private final long waitForWorkersMillis;
  private final WaitingRoom room;
  private final TurnKeeper keeper;
  private final AdmissionMetrics metrics;
  private final Supplier<List<ClassStatus>> status;
  private final @Nullable CellPrograms programs;
  private final Preemptions preemptions;
  private final NanoClock clock;

  /**
   * Nobody waits yet.
   *
   * @param engines what is known of the workers' engines
   * @param programs those of the cell, which may have to wait; null when they are not known
   */
  CellAdmission(
      String cell, CellDecider decider, GateCheck.Engines engines, AdmissionSettings settings, AdmissionMetrics metrics,
      @Nullable CellPrograms programs, NanoClock clock) {
    this.cell = cell;
    this.decider = decider;
    this.engines = engines;
    this.gates = List.of(new EngineQueueGate(settings), new KeptPlacesGate(settings));
    this.waitForWorkersMillis = settings.waitForWorkers().toMillis();
    this.room = new WaitingRoom(settings, clock, () -> ThreadLocalRandom.current().nextDouble(), metrics);
    this.keeper = new TurnKeeper(room);
    this.metrics = metrics;
    this.status = room::status;
    this.programs = programs;
    this.preemptions = new Preemptions(settings, engines, decider::slotsWithAPlaceMore, metrics, clock);
    this.clock = clock;
    metrics.watch(cell, status);
  }

  /** Those that wait. */
  public WaitingRoom room() {
    return room;
  }

  /** Decides for a request of this node, when it is its turn. Waits, so that it is called on virtual threads. */
  public TurnResult decide(DecisionRequest request, Claim claim, Cancellation client) {
    GateCheck check = check(request, claim, Standing.ALONE);
    Decision now = tryAtOnce(request, claim, true, check);
    if (now != null) {
      return new TurnResult.Decided(now);
    }
    PendingDecision pending = enter(request, claim, true, check);
    try (Cancellation.Registration _ = client.onCancelled(pending::cancel)) {
      return pending.result().get();
    } catch (InterruptedException stopped) {
      pending.discard();
      Thread.currentThread().interrupt();
      return new TurnResult.Cancelled();
    } catch (ExecutionException failed) {
      throw new IllegalStateException("the decision for a request that waited failed", failed.getCause());
    }
  }

  /**
   * Decides for a request for which nobody waits, or only those who wait until there is room for their programs; null
   * when it has to wait, too.
   */
  @Nullable Decision tryAtOnce(DecisionRequest request, Claim claim, boolean local, GateCheck check) {
    return room.hasNoLine() ? tryNow(request, program(request), claim, local, check, false) : null;
  }

  /** Gives a request a place in the room, unless it is refused. */
  PendingDecision enter(DecisionRequest request, Claim claim, boolean local, GateCheck check) {
    PendingDecision pending =
        new PendingDecision(claim, check.holdReason(), new WaitingTries(request, claim, local), clock);
    WaitingRoom.Place place =
        room.add(
            claim, request.model(), Math.max(1, request.prompt().tokens()), check.uncachedTokens(), pending);
    if (place != null) {
      pending.placed(place);
      if (pending.result().isDone()) {
        place.leave();
      }
      keeper.changed();
    }
    return pending;
  }

  private final class WaitingTries implements PendingDecision.Tries {
    private final DecisionRequest request;
    private final @Nullable String program;
    private final Claim claim;
    private final boolean local;
    private final Preemptions.Preemptor preemptor;

    WaitingTries(DecisionRequest request, Claim claim, boolean local) {
      this.request = request;
      this.program = program(request);
      this.claim = claim;
      this.local = local;
      this.preemptor = preemptions.new Preemptor(request);
    }

    @Override
    public GateCheck check(Claim now, Standing standing) {
      return CellAdmission.this.check(request, now, standing);
    }

    @Override
    public @Nullable Decision decide(GateCheck check) {
      Decision decision = tryNow(request, program, claim, local, check, true);
      if (decision == null) {
        preemptor.held(check);
      } else {
        preemptor.ended();
      }
      return decision;
    }
  }

  /** Explains where a request would go if it came now and nobody waited, whether it would be held for that or not. */
  DecisionRecord explain(DecisionRequest request) {
    Claim claim = request.claim();
    return decider.explain(request, claim == null ? null : check(request, claim, Standing.ALONE));
  }

  /** A look at what a request may expect; one that starves has the bounds of the most urgent class. */
  GateCheck check(DecisionRequest request, Claim claim, Standing standing) {
    Claim checked = standing.starving() ? claim.as(ServiceClass.SYSTEM) : claim;
    return new GateCheck(
        engines, gates, request.model(), checked, standing, claim.waitedMillis() < waitForWorkersMillis);
  }

  private @Nullable String program(DecisionRequest request) {
    return programs == null ? null : programs.of(request);
  }

  /**
   * Decides if the gates let the request go or refuse it; null when it waits.
   *
   * @param program it is a turn of this one
   * @param inTurn whether it has waited, so that its tenant is charged when it goes
   */
  private @Nullable Decision tryNow(
      DecisionRequest request, @Nullable String program, Claim claim, boolean local, GateCheck check, boolean inTurn) {
    if (programs != null && !programs.mayGo(program, request)) {
      check.holdProgram();
      return null;
    }
    Decision decision =
        decider.decide(request, local, check, planning -> check.test(planning) && mayTake(request, check));
    AdmissionRefusal refusal = check.refusal();
    if (decision == null && refusal != null) {
      metrics.refused(claim.serviceClass(), refusal);
      return Decision.NoWorker.refused(refusal);
    }
    if (!(decision instanceof Decision.Planned planned)) {
      return decision;
    }
    Decision.Planned turn = programs == null ? planned : programs.began(program, request, planned);
    Decision.Planned sent =
        preemptions.sent(turn, request, check, tokens -> room.preempted(claim, inTurn ? tokens : 0));
    return room.isEmpty() ? sent : charged(sent, claim);
  }

  private boolean mayTake(DecisionRequest request, GateCheck check) {
    boolean its = preemptions.mayTake(request, check);
    if (!its) {
      check.holdForOther();
    }
    return its;
  }

  /** What it generates is charged at its end: others wait meanwhile. */
  private Decision charged(Decision.Planned planned, Claim claim) {
    return ReportedReservation.ofLast(planned, tokens -> room.generated(claim, tokens));
  }

  /** Who waits, by class. */
  List<ClassStatus> waiting() {
    return room.status();
  }

  /** Those that wait, by model. */
  List<ModelBacklog> backlog() {
    return room.backlog();
  }

  /** A worker may have room again. One comparison while nobody waits. */
  void roomChanged() {
    keeper.changed();
  }

  /** The cell leaves this home: those that wait are to try at the next one. Idempotent. */
  @Override
  public void close() {
    keeper.close();
    metrics.unwatch(cell, status);
  }
}
