package io.kvasir.sim.operations;

import io.kvasir.sim.core.EngineStats;
import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.InjectedFault;
import io.kvasir.sim.transfer.TransferStats;
import java.io.IOException;
import java.util.List;
import java.util.Set;

/** What can be read from and done to a running engine by {@link ControlApi}'s paths. Thread-safe. */
public interface EngineControls {
  EngineStats stats();

  TransferStats transferStats();

  /** What is wrong with the engine now. */
  Set<EngineCondition> conditions();

  /** Replaces the faults that requests meet from now on. */
  void setFaults(List<InjectedFault> next);

  /**
   * Begins or ends a condition.
   *
   * @throws IOException when it is to listen again and its port is taken
   */
  void setCondition(EngineCondition condition, boolean on) throws IOException;

  /** Stops as suddenly as a process that is killed: every connection breaks, the cache is lost. Idempotent. */
  void crash();

  /**
   * Stops if it runs, and starts again on the same ports, with no condition and an empty cache.
   *
   * @throws IOException when a port has been taken meanwhile
   */
  void restart() throws IOException;
}
