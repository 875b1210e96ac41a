package io.kvasir.cell.view;

import io.kvasir.cell.worker.Member;
import io.kvasir.routing.Role;
import org.jspecify.annotations.Nullable;

/**
 * The pressure on a cell.
 *
 * @param share of what it can do that is in use, 0 to 1; 1 when it cannot take anything
 * @param capacity requests its workers may have in flight, 0 while none of them can be given any
 */
public record CellPressure(double share, int capacity) {
  /** Prompts that wait this long, estimated, before they are read count as half of what a cell can do. */
  private static final double HALF_QUEUE_MS = 1000;

  /** The pressure on a cell's members. */
  static CellPressure of(@Nullable Member[] members, HealthSnapshot health) {
    Workers prefillWorkers = new Workers();
    Workers decodeWorkers = new Workers();
    for (int slot = 0; slot < members.length; slot++) {
      Member member = members[slot];
      if (member != null && health.isRoutable(slot)) {
        Role role = member.worker().role();
        if (role.takes(Role.PREFILL)) {
          prefillWorkers.add(member);
        }
        if (role.takes(Role.DECODE)) {
          decodeWorkers.add(member);
        }
      }
    }
    double queueMs = prefillWorkers.count == 0 ? 0 : prefillWorkers.queueMs / prefillWorkers.count;
    double used = Math.max(queueMs / (queueMs + HALF_QUEUE_MS), prefillWorkers.used());
    return new CellPressure(decodeWorkers.capacity == 0 ? 1
        : Math.min(1, Math.max(used, decodeWorkers.used())), decodeWorkers.capacity);
  }

  /** What the workers that do one kind of work have to do. */
  private static final class Workers {
    int count;
    int inFlight;
    int capacity;
    double queueMs;

    void add(Member member) {
      count++;
      inFlight += member.load().inFlight();
      capacity += member.worker().maxInFlight();
      queueMs += member.load().queueMs();
    }

    double used() {
      return capacity == 0 ? 0 : (double) inFlight / capacity;
    }
  }
}
