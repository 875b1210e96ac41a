package io.kvasir.cell;

import io.kvasir.index.WorkerBlocks;
import io.kvasir.routing.Worker;
import java.util.function.LongSupplier;

/**
 * A worker in its slot: who it is, what is booked on it, whether it is well, what it holds and how far
 * its event stream has come. The same worker that comes back after its removal is a new member.
 */
final class Member {
  private final Worker worker;
  private final PodEntry pod;
  private final WorkerLoad load;
  private final WorkerHealth health;
  private final WorkerBlocks blocks;
  private final LongSupplier nanos;
  private final OnEnd onEnd;
  private volatile boolean draining;
  private volatile EventState events = EventState.START;

  /** Told when a request on a member is over. */
  @FunctionalInterface
  interface OnEnd {
    void ended(Member member, String model, Outcome outcome);
  }

  Member(
      Worker worker,
      PodEntry pod,
      WorkerHealth health,
      WorkerBlocks blocks,
      LongSupplier nanos,
      OnEnd onEnd) {
    this.worker = worker;
    this.pod = pod;
    this.load = new WorkerLoad(worker.maxInFlight());
    this.health = health;
    this.blocks = blocks;
    this.nanos = nanos;
    this.onEnd = onEnd;
    this.draining = pod.draining();
  }

  Worker worker() {
    return worker;
  }

  PodEntry pod() {
    return pod;
  }

  WorkerLoad load() {
    return load;
  }

  WorkerHealth health() {
    return health;
  }

  WorkerBlocks blocks() {
    return blocks;
  }

  EventState events() {
    return events;
  }

  void events(EventState state) {
    events = state;
  }

  void drain() {
    draining = true;
  }

  boolean routable() {
    return !draining && health.routable(nanos.getAsLong());
  }

  /**
   * A request on this worker is over: its answer says how the worker is.
   *
   * @param model as the request named it
   */
  void ended(String model, Outcome outcome) {
    switch (outcome) {
      case Outcome.Completed ignored -> health.answered();
      case Outcome.Cancelled ignored -> {}
      case Outcome.Refused ignored -> {}
      case Outcome.Failed failed -> {
        if (failed.transport()) {
          health.lostContact();
        } else {
          health.failed(nanos.getAsLong());
        }
      }
    }
    onEnd.ended(this, model, outcome);
  }

  WorkerStatus status(String cell) {
    return new WorkerStatus(
        worker,
        cell,
        health.state(nanos.getAsLong()),
        draining,
        events.suspect(),
        load.inFlight(),
        load.pendingTokens(),
        blocks.size(),
        events.lastSequence());
  }
}
