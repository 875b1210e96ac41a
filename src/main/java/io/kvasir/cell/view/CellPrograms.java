package io.kvasir.cell.view;

import io.kvasir.admission.Claim;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.RetentionRelease;
import io.kvasir.cell.ledger.ReportedReservation;
import io.kvasir.cell.worker.Member;
import io.kvasir.programs.GuardStatus;
import io.kvasir.programs.PrefixPrograms;
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
  private final RetainedPrograms retained;

  /**
   * No programs yet.
   *
   * @param releases tells engines what they need not retain
   * @param costs know what a worker can hold by the name of its engine
   * @param heldTokens the leading tokens of a request's prompt that some worker holds
   * @param members the cell's, by slot
   */
  CellPrograms(
      ProgramSettings settings,
      ProgramMetrics metrics,
      RetentionRelease releases,
      CostModel costs,
      NanoClock clock,
      ToIntFunction<DecisionRequest> heldTokens,
      Supplier<@Nullable Member[]> members) {
    this.settings = settings;
    this.retained = new RetainedPrograms(releases, metrics);
    this.guard = new ThrashGuard(settings.guard(), new ProgramEvents(metrics, retained));
    this.prefixes = new PrefixPrograms(settings.guard().maxPrograms());
    this.costs = costs;
    this.clock = clock;
    this.heldTokens = heldTokens;
    this.members = members;
  }

  /**
   * The program that a request names, or of its tenant's the one whose prompt it continues; null when there is none.
   * Found once for a request: while it waits, another one may go on from where its prompt ends.
   */
  @Nullable String of(DecisionRequest request) {
    String named = request.prepared().get(Slots.PROGRAM);
    if (named != null && !named.isEmpty()) {
      return named;
    }
    if (request.shape().severalPrompts()) {
      return null;
    }
    String tenant = request.prepared().get(Slots.PROGRAM_TENANT);
    return prefixes.of(tenant == null ? "" : tenant, request.prompt().chain());
  }

  /** Whether the guard lets a program's request go. One that it does not is to be looked at again from time to time. */
  boolean mayGo(@Nullable String program, DecisionRequest request) {
    return program == null
        || !settings.guarded()
        || guard.isLive(program)
        || guard.mayGo(turn(program, request, heldTokens.applyAsInt(request)), capacityTokens(), nowMs());
  }

  /** Notes that a program's request goes as planned, and the end of its last step when it comes. */
  Decision.Planned began(@Nullable String program, DecisionRequest request, Decision.Planned planned) {
    if (program == null) {
      return planned;
    }
    Decision.Chosen last = planned.last();
    ProgramTurn turn = turn(program, request, last.cached().best());
    guard.began(turn, nowMs());
    Worker worker = retains(planned, request) ? last.worker() : null;
    if (worker != null) {
      retained.began(program, worker);
    }
    return ReportedReservation.ofLast(planned, output -> {
      if (worker != null) {
        retained.ended(program, worker, output > 0);
      }
      ended(turn, output);
    });
  }

  /** Whether the engine is told the name of the program: one that its request has, where one engine carries it out. */
  private static boolean retains(Decision.Planned planned, DecisionRequest request) {
    String named = request.prepared().get(Slots.PROGRAM);
    return named != null && planned.steps().size() == 1 && !request.shape().severalPrompts();
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

  /** Lets go of programs that are not expected back. To be called now and then. */
  public void expire() {
    guard.expire(nowMs());
  }

  /** Has engines retain nothing more of what is known here: the cell has left this node. */
  public void close() {
    retained.leaveAll();
  }

  /** Programs of which engines retain what they have used. */
  int retained() {
    return retained.count();
  }

  GuardStatus status() {
    return guard.status();
  }

  private long nowMs() {
    return clock.nanos() / 1_000_000;
  }
}
