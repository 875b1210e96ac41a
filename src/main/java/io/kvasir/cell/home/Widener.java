package io.kvasir.cell.home;

import io.kvasir.cell.worker.Member;
import io.kvasir.index.WorkerBlocks;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/** Has a cell's index rebuilt into a wider one when its members need that. The cell's actor's. */
final class Widener {
  /** A rebuild takes a second at most; one that takes this long has lost somebody. */
  private static final Duration LONGEST = Duration.ofSeconds(60);

  private final String cell;
  private final Members members;
  private final EventActors events;
  private final CellServices services;
  private final Executor turns;
  private final Runnable over;
  private final Logger log;
  private @Nullable Widening widening;

  /**
   * Rebuilds nothing yet.
   *
   * @param turns runs what it is given on a turn of the cell's actor
   * @param over runs there when a rebuild is over
   */
  Widener(
      String cell,
      Members members,
      EventActors events,
      CellServices services,
      Executor turns,
      Runnable over,
      Logger log) {
    this.cell = cell;
    this.members = members;
    this.events = events;
    this.services = services;
    this.turns = turns;
    this.over = over;
    this.log = log;
  }

  /** Whether the index is on its way into a wider one: nobody can join until it is there. */
  boolean active() {
    return widening != null;
  }

  /** Begins to make room for so many workers, where there can be more. */
  void make(int workers) {
    if (!members.mustWiden(workers)) {
      return;
    }
    Widening begun = members.widen(workers);
    widening = begun;
    log.info("cell {} has {} workers: its index becomes {} slots wide", cell, workers, begun.index().slots());
    begun.heirs().forEach((member, heir) -> {
      if (events.handOver(member, heir, () -> turns.execute(() -> handedOver(begun, member)))) {
        begun.asked(member);
      }
    });
    succeed();
  }

  /** A member has left the cell. */
  void left() {
    succeed();
  }

  /** Stays with the narrow index when a worker does not hand over; the next change of the roster tries again. */
  void giveUpLate(long now) {
    if (widening != null && widening.isWaiting() && now - widening.startedNanos() > LONGEST.toNanos()) {
      members.stay();
      widening = null;
      events.goOn();
      log.error("the index of cell {} could not be made wider: not every worker's events actor answered", cell);
    }
  }

  private void handedOver(Widening of, Member member) {
    of.handedOver(member);
    succeed();
  }

  /** Goes on when all workers have handed over. */
  private void succeed() {
    Widening begun = widening;
    if (begun != null && begun.complete()) {
      Map<Member, WorkerBlocks> heirs = Map.copyOf(begun.heirs());
      services.background().execute(() -> {
        Widening.succeed(heirs);
        turns.execute(() -> moveTo(begun));
      });
    }
  }

  private void moveTo(Widening done) {
    members.moveTo(done);
    widening = null;
    events.goOn();
    log.info(
        "cell {} decides from an index of {} slots after {} ms",
        cell, done.index().slots(), (services.nanos().getAsLong() - done.startedNanos()) / 1_000_000);
    over.run();
  }
}
