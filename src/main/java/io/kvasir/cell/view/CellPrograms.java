package io.kvasir.cell.view;

import io.kvasir.admission.Claim;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.ledger.ReportedReservation;
import io.kvasir.cell.worker.Member;
import io.kvasir.programs.GuardStatus;
import io.kvasir.programs.PrefixPrograms;
import io.kvasir.programs.ProgramListener;
import io.kvasir.programs.ProgramSettings;
import io.kvasir.programs.ProgramTurn;
import io.kvasir.programs.ThrashGuard;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.time.NanoClock;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The programs of a cell: of which a request is a turn, and what its workers can hold of them. Thread-safe.
 */
public final class CellPrograms {
  private final ProgramSettings settings;
  private final ThrashGuard guard;
  private final PrefixPrograms prefixes;
  private final CostModel costs;
  private final NanoClock clock;
  private final ToIntFunction<DecisionRequest> heldTokens;
  private final Supplier<@Nullable Member[]> members;

  /**
   * No programs yet.
   *
   * @param costs know what a worker can hold by the name of its engine
   * @param heldTokens the leading tokens of a request's prompt that some worker holds
   * @param members the cell's, by slot
   */
  CellPrograms(
      ProgramSettings settings,
      ProgramListener listener,
      CostModel costs,
      NanoClock clock,
      ToIntFunction<DecisionRequest> heldTokens,
      Supplier<@Nullable Member[]> members) {
    this.settings = settings;
    this.guard = new ThrashGuard(settings.guard(), listener);
    this.prefixes = new PrefixPrograms(settings.guard().maxPrograms());
    this.costs = costs;
    this.clock = clock;
    this.heldTokens = heldTokens;
    this.members = members;
  }

  /** Whether the guard lets a request go. One that it does not is to be looked at again from time to time. */
  boolean mayGo(DecisionRequest request) {
    String program = settings.guarded() ? program(request) : null;
    return program == null
        || guard.isLive(program)
        || guard.mayGo(turn(program, request, heldTokens.applyAsInt(request)), capacityTokens(), nowMs());
  }

  /** Notes that a request goes as planned, and the end of its last step when it comes. */
  Decision.Planned began(Decision.Planned planned, DecisionRequest request) {
    Decision.Chosen last = planned.last();
    String program = program(request);
    if (program == null) {
      return planned;
    }
    ProgramTurn turn = turn(program, request, last.cached().best());
    guard.began(turn, nowMs());
    return ReportedReservation.ofLast(planned, output -> ended(turn, output));
  }

  private static ProgramTurn turn(String program, DecisionRequest request, int heldTokens) {
    int prompt = Math.max(1, request.prompt().tokens());
    Long last = request.prepared().get(Slots.PROGRAM_LAST);
    Claim claim = request.claim();
    return new ProgramTurn(
        program, claim == null ? "" : claim.tenant(), claim == null ? 1 : claim.weight(), prompt,
        Math.min(prompt, heldTokens), last != null && last != 0);
  }

  private void ended(ProgramTurn turn, int outputTokens) {
    long capacity = settings.guarded() ? capacityTokens() : 0;
    guard.ended(turn.program(), turn.promptTokens() + outputTokens, capacity, nowMs());
  }

  /** The program that a request names, or whose prompt it continues; null when there is none. */
  private @Nullable String program(DecisionRequest request) {
    String named = request.prepared().get(Slots.PROGRAM);
    if (named != null && !named.isEmpty()) {
      return named;
    }
    return request.shape().severalPrompts() ? null : prefixes.of("", request.prompt().chain());
  }

  /** The tokens that the workers can hold, all together; 0 while that is not known of one of them. */
  public long capacityTokens() {
    long tokens = 0;
    for (Member member : members.get()) {
      if (member != null && member.isRoutable()) {
        long its = settings.workerTokens() > 0 ? settings.workerTokens() : known(member.worker());
        if (its == 0) {
          return 0;
        }
        tokens += its;
      }
    }
    return tokens;
  }

  private long known(Worker worker) {
    return costs.hasCoefficients(worker.engine()) ? (long) costs.of(worker.deployment()).kvTokens() : 0;
  }

  GuardStatus status() {
    return guard.status();
  }

  private long nowMs() {
    return clock.nanos() / 1_000_000;
  }
}
