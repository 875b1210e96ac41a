package io.kvasir.lab;

import io.kvasir.routing.Role;
import io.kvasir.routing.cost.DecodeCost;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.scale.Backlog;
import io.kvasir.scale.FleetDemand;
import io.kvasir.scale.ScaleAdvisor;
import io.kvasir.scale.ScaleTarget;
import io.kvasir.scale.WorkerCapacity;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The engines of a run as an autoscaler starts and stops them, by the advice that a cluster gives. An engine that is
 * ordered loads its model first; one that is given up finishes what it has, and then its cache is lost. Both cost as
 * much as one that serves. Without settings all engines serve all the time. One thread.
 */
final class ElasticFleet {
  private static final double TICK_MS = 10_000;
  private static final int MOST_SEQUENCES = 256;

  private enum State { OFF, LOADING, SERVING, DRAINING }

  private final LabFleet fleet;
  private final LabEngine[] engines;
  private final OutputLengths outputs;
  private final ElasticChoice.@Nullable Settings settings;
  private final ScaleAdvisor advisor;
  private final WorkerCapacity capacity;
  private final State[] states;
  private final double[] readyMs;
  private double lastMs;
  private double lastBookedMs;
  private double engineMs;
  private int fewest;
  private int most;
  private int changes;
  private int turns;
  private int direction;

  ElasticFleet(LabPlan.Run run, LabFleet fleet, LabEngine[] engines, DecodeCost decode, OutputLengths outputs) {
    this.settings = run.machines().elastic().settings();
    this.fleet = fleet;
    this.engines = engines;
    this.outputs = outputs;
    this.capacity = new WorkerCapacity(decode, MOST_SEQUENCES);
    this.states = new State[engines.length];
    this.readyMs = new double[engines.length];
    int start =
        settings == null ? engines.length : Math.clamp(settings.start(), settings.least(), engines.length);
    this.advisor =
        new ScaleAdvisor(
            new ScaleTarget(LabFleet.MODEL, Role.BOTH),
            (settings == null ? new ElasticChoice.Settings(0, 0, 1, 1, 0) : settings).goals(run.slo(), engines.length));
    for (int slot = 0; slot < engines.length; slot++) {
      set(slot, slot < start ? State.SERVING : State.OFF);
    }
    this.fewest = start;
    this.most = start;
  }

  /** When the number of engines is looked at next, milliseconds. */
  double nextMs() {
    return settings == null ? LabEngine.NEVER : lastMs + TICK_MS;
  }

  /** Lets time pass, and starts or stops engines. */
  void tick(double nowMs) {
    pass(nowMs);
    for (int slot = 0; slot < states.length; slot++) {
      if (states[slot] == State.LOADING && readyMs[slot] <= nowMs) {
        set(slot, State.SERVING);
      } else if (states[slot] == State.DRAINING && fleet.inFlight(slot) == 0) {
        engines[slot].clear();
        set(slot, State.OFF);
      }
    }
    int there = count(State.SERVING) + count(State.LOADING);
    int desired = advisor.advise(nowMs / 1e3, demand(there), capacity).desired();
    if (desired != there) {
      int sign = Integer.signum(desired - there);
      changes++;
      turns += direction != 0 && sign != direction ? 1 : 0;
      direction = sign;
    }
    for (int n = there; n < desired; n++) {
      add(nowMs);
    }
    for (int n = there; n > desired; n--) {
      giveUp();
    }
    fewest = Math.min(fewest, desired);
    most = Math.max(most, desired);
  }

  private FleetDemand demand(int there) {
    double booked = fleet.bookedMs();
    double seconds = TICK_MS / 1e3;
    int inFlight = 0;
    long context = 0;
    double owed = 0;
    double least = LabEngine.NEVER;
    for (int slot = 0; slot < states.length; slot++) {
      inFlight += fleet.inFlight(slot);
      context += fleet.contextTokens(slot);
      owed += fleet.queueMs(slot) / 1e3;
      least = states[slot] == State.SERVING ? Math.min(least, fleet.queueMs(slot) / 1e3) : least;
    }
    double memory = (context + inFlight * outputs.expected(LabFleet.MODEL) / 2) / capacity.decode().kvTokens();
    double prefill = (booked - lastBookedMs) / 1e3 / seconds;
    lastBookedMs = booked;
    double perPrompt = fleet.bookings() == 0 ? 0 : booked / 1e3 / fleet.bookings();
    return new FleetDemand(
        there, count(State.SERVING), prefill, perPrompt, owed, inFlight, context, memory,
        outputs.expected(LabFleet.MODEL), 0, 0, least, Backlog.NONE);
  }

  /** One more: an engine that was to stop goes on, or another loads. */
  private void add(double nowMs) {
    int slot = first(State.DRAINING);
    if (slot >= 0) {
      set(slot, State.SERVING);
      return;
    }
    slot = first(State.OFF);
    if (slot >= 0 && settings != null) {
      readyMs[slot] = nowMs + settings.startup() * 1e3;
      set(slot, State.LOADING);
    }
  }

  /** One fewer: an engine that loads, or the one with the fewest requests. */
  private void giveUp() {
    int slot = first(State.LOADING);
    if (slot >= 0) {
      set(slot, State.OFF);
      return;
    }
    for (int each = 0; each < states.length; each++) {
      if (states[each] == State.SERVING && (slot < 0 || fleet.inFlight(each) < fleet.inFlight(slot))) {
        slot = each;
      }
    }
    set(slot, State.DRAINING);
  }

  private void set(int slot, State state) {
    states[slot] = state;
    fleet.serves(slot, state == State.SERVING);
  }

  private int first(State state) {
    return Arrays.asList(states).indexOf(state);
  }

  private int count(State state) {
    return (int) Arrays.stream(states).filter(each -> each == state).count();
  }

  private void pass(double nowMs) {
    engineMs += (nowMs - lastMs) * (states.length - count(State.OFF));
    lastMs = nowMs;
  }

  /** What the engines cost until now. */
  RunReport.Engines used(double nowMs) {
    pass(nowMs);
    return new RunReport.Engines(engineMs / 3.6e6, fewest, most, changes, turns);
  }
}
