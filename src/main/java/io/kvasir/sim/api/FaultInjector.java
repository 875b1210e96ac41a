package io.kvasir.sim.api;

import io.kvasir.sim.settings.InjectedFault;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** Decides per request what goes wrong with it. Thread-safe; the same seed, the same decisions in order. */
public final class FaultInjector {
  private final SplittableRandom random;
  private List<InjectedFault> faults = List.of();
  private int[] left = {};

  /** An injector of these faults. */
  public FaultInjector(long seed, List<InjectedFault> faults) {
    this.random = new SplittableRandom(seed);
    set(faults);
  }

  /** From the next request on, these and no others. */
  public synchronized void set(List<InjectedFault> next) {
    faults = List.copyOf(next);
    left = next.stream().mapToInt(InjectedFault::first).toArray();
  }

  /** What befalls the next request: the first fault that applies, or null. */
  synchronized InjectedFault.@Nullable Kind next() {
    for (int i = 0; i < left.length; i++) {
      InjectedFault fault = faults.get(i);
      if (left[i] > 0) {
        left[i]--;
        return fault.kind();
      }
      if (fault.probability() > 0 && random.nextDouble() < fault.probability()) {
        return fault.kind();
      }
    }
    return null;
  }
}
