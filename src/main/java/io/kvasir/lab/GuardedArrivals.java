package io.kvasir.lab;

import io.kvasir.index.Chain;
import io.kvasir.programs.PrefixPrograms;
import io.kvasir.programs.ProgramListener;
import io.kvasir.programs.ProgramTurn;
import io.kvasir.programs.ThrashGuard;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/** The requests that the thrash guard of a run holds back; without one, none are. */
final class GuardedArrivals {
  /** As a live router, it looks at those that wait from time to time, besides when a request ends. */
  private static final double AGAIN_MS = 1_000;

  private final @Nullable ThrashGuard guard;
  private final PrefixPrograms prefixes;
  private final long capacityTokens;
  private final ToIntFunction<Chain> heldTokens;
  private final @Nullable String[] programs;
  private final List<Waiting> waiting = new ArrayList<>();
  private double nextMs = LabEngine.NEVER;

  private record Waiting(int index, String program, String tenant, int promptTokens, Chain chain) {}

  /**
   * Arrivals under a guard, or none.
   *
   * @param requests number of requests of the trace
   * @param capacityTokens what the engines can hold, all together
   * @param heldTokens the leading tokens of a prompt that some engine holds
   */
  GuardedArrivals(GuardChoice choice, int requests, long capacityTokens, ToIntFunction<Chain> heldTokens) {
    this.guard = choice.settings() == null ? null : new ThrashGuard(choice.settings(), ProgramListener.NONE);
    this.prefixes = new PrefixPrograms(choice.settings() == null ? 1 : choice.settings().maxPrograms());
    this.capacityTokens = capacityTokens;
    this.heldTokens = heldTokens;
    this.programs = new String[requests];
  }

  /** Whether a request that arrives goes at once. */
  boolean arrive(int index, LabRequest request, Chain chain, double nowMs) {
    if (guard == null) {
      return true;
    }
    String program = request.session().isEmpty() ? prefixes.of(request.tenant(), chain) : request.session();
    programs[index] = program;
    if (program == null) {
      return true;
    }
    Waiting arrived = new Waiting(index, program, request.tenant(), request.promptTokens(), chain);
    if (goes(guard, arrived, nowMs)) {
      return true;
    }
    waiting.add(arrived);
    nextMs = Math.min(nextMs, nowMs + AGAIN_MS);
    return false;
  }

  private boolean goes(ThrashGuard active, Waiting request, double nowMs) {
    int held = heldTokens.applyAsInt(request.chain);
    ProgramTurn turn = new ProgramTurn(request.program, request.tenant, 1, request.promptTokens, held, false);
    if (!active.mayGo(turn, capacityTokens, (long) nowMs)) {
      return false;
    }
    active.began(turn, (long) nowMs);
    return true;
  }

  /** When those that wait are to be looked at again; {@link LabEngine#NEVER} while none do. */
  double nextMs() {
    return nextMs;
  }

  /** Takes out those that wait no more: each that goes may let another one go. */
  List<Integer> release(double nowMs) {
    List<Integer> released = new ArrayList<>();
    ThrashGuard active = guard;
    if (active != null) {
      int before;
      do {
        before = released.size();
        waiting.removeIf(request -> goes(active, request, nowMs) && released.add(request.index));
      } while (released.size() > before);
    }
    nextMs = waiting.isEmpty() ? LabEngine.NEVER : nowMs + AGAIN_MS;
    return released;
  }

  /** Handles the end of a request that went. */
  void ended(int index, LabRequest request, double nowMs) {
    String program = programs[index];
    if (guard != null && program != null) {
      guard.ended(program, request.promptTokens() + request.outputTokens(), capacityTokens, (long) nowMs);
      nextMs = waiting.isEmpty() ? LabEngine.NEVER : nowMs;
    }
  }
}
