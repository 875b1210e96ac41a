package io.kvasir.programs;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The programs that wait, and whose turn it is: fair over tenants by the memory that their live programs have for their
 * weights, the least first. A program that is larger than its tenant's share holds nobody up: the others would wait
 * until nearly all had ended. Not thread-safe.
 */
final class ProgramLine {
  private final Map<String, ProgramTenant> tenants = new HashMap<>();
  private final Map<String, ProgramWait> waits = new HashMap<>();

  /** Of the tenants, all together. */
  private int weights;

  /** The tenant of a program, which is one that has something live or waits from then on. */
  ProgramTenant tenant(Program program) {
    ProgramTenant tenant = tenants.get(program.tenant());
    if (tenant == null) {
      tenant = new ProgramTenant(program.tenant(), program.weight());
      tenants.put(program.tenant(), tenant);
      weights += program.weight();
    }
    weights += program.weight() - tenant.weight();
    tenant.weigh(program.weight());
    return tenant;
  }

  /** Counts programs of a program's tenant that become live, with their tokens; less than 0 where they are no more. */
  void addLive(Program program, int programs, long tokens) {
    ProgramTenant tenant = tenant(program);
    tenant.add(programs, tokens);
    forgetIfEmpty(tenant);
  }

  private void forgetIfEmpty(ProgramTenant tenant) {
    if (tenant.isEmpty() && tenants.remove(tenant.name(), tenant)) {
      weights -= tenant.weight();
    }
  }

  boolean isEmpty() {
    return waits.isEmpty();
  }

  int length() {
    return waits.size();
  }

  /**
   * The wait of a program, begun or continued.
   *
   * @param begun is called when it begins
   */
  ProgramWait offer(Program program, int rank, int tokens, long nowMs, Runnable begun) {
    ProgramWait before = end(program);
    boolean goesOn = before != null && !before.hasLeft(nowMs);
    if (!goesOn) {
      begun.run();
    }
    ProgramWait wait =
        new ProgramWait(
            program.name(), rank, tokens, before != null && goesOn ? before.sinceMs() : nowMs, nowMs);
    waits.put(program.name(), wait);
    tenant(program).waits().add(wait);
    return wait;
  }

  /** Ends the wait of a program; null when it does not wait. */
  @Nullable ProgramWait end(Program program) {
    ProgramWait wait = waits.remove(program.name());
    if (wait != null) {
      ProgramTenant tenant = tenant(program);
      tenant.waits().remove(wait);
      forgetIfEmpty(tenant);
    }
    return wait;
  }

  /**
   * Whether nobody is before a program's wait who has not left and holds it up.
   *
   * @param tokens that all tenants share
   */
  boolean isNext(Program program, ProgramWait wait, double tokens, long nowMs) {
    ProgramTenant own = tenant(program);
    double perWeight = tokens / weights;
    for (Iterator<ProgramTenant> all = tenants.values().iterator(); all.hasNext(); ) {
      ProgramTenant tenant = all.next();
      removeThoseThatHaveLeft(tenant, nowMs);
      if (tenant.isEmpty()) {
        all.remove();
        weights -= tenant.weight();
        continue;
      }
      boolean isOwn = tenant.name().equals(own.name());
      if (isOwn || isBefore(tenant, own)) {
        for (ProgramWait each : isOwn ? own.waits().headSet(wait) : tenant.waits()) {
          if (each.tokens() <= perWeight * tenant.weight() && !each.hasLeft(nowMs)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  /** Both have programs that wait, or the first one does not. */
  private static boolean isBefore(ProgramTenant one, ProgramTenant other) {
    if (one.waits().isEmpty()) {
      return false;
    }
    int order = Double.compare(one.tokensPerWeight(), other.tokensPerWeight());
    return order != 0 ? order < 0 : one.waits().first().compareTo(other.waits().first()) < 0;
  }

  private void removeThoseThatHaveLeft(ProgramTenant tenant, long nowMs) {
    while (!tenant.waits().isEmpty() && tenant.waits().first().hasLeft(nowMs)) {
      ProgramWait left = tenant.waits().removeFirst();
      waits.remove(left.program());
    }
  }
}
