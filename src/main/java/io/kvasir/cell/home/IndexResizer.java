package io.kvasir.cell.home;

import io.kvasir.cell.worker.Member;
import io.kvasir.index.WorkerBlocks;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/** Has a cell's index rebuilt into a wider one when its members need that. The cell's actor's. */
final class IndexResizer {
  /** A rebuild takes a second at most; one that takes this long has lost a part. */
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private final String cell;
  private final Members members;
  private final EventActors events;
  private final CellServices services;
  private final Executor actor;
  private final Runnable onFinished;
  private final Logger log;
  private @Nullable IndexResize resize;

  /**
   * Rebuilds nothing yet.
   *
   * @param turns runs what it is given on a turn of the cell's actor
   * @param over runs there when a rebuild is over
   */
  IndexResizer(
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
    this.actor = turns;
    this.onFinished = over;
    this.log = log;
  }

  /** Whether the index is being rebuilt into a wider one: no worker can join until that is done. */
  boolean isActive() {
    return resize != null;
  }

  /** Begins to make room for so many workers, where there can be more. */
  void makeRoom(int workers) {
    if (!members.needsResize(workers)) {
      return;
    }
    IndexResize begun = members.beginResize(workers);
    resize = begun;
    log.info("cell {} has {} workers: its index becomes {} slots wide", cell, workers, begun.index().slots());
    begun.successors().forEach((member, successor) -> {
      if (events.handOver(member, successor, () -> actor.execute(() -> handedOver(begun, member)))) {
        begun.handOverRequested(member);
      }
    });
    complete();
  }

  /** A member has left the cell. */
  void memberRemoved() {
    complete();
  }

  /** Stays with the narrow index when a worker does not hand over; the next change of the roster tries again. */
  void abandonOverdue(long now) {
    if (resize != null && resize.isWaiting() && now - resize.startedNanos() > TIMEOUT.toNanos()) {
      members.cancelResize();
      resize = null;
      events.resume();
      log.error("the index of cell {} could not be made wider: not every worker's events actor answered", cell);
    }
  }

  private void handedOver(IndexResize of, Member member) {
    of.handedOver(member);
    complete();
  }

  /** Goes on when all workers have handed over. */
  private void complete() {
    IndexResize begun = resize;
    if (begun != null && begun.tryComplete()) {
      Map<Member, WorkerBlocks> successors = Map.copyOf(begun.successors());
      services.background().execute(() -> {
        IndexResize.transferPredictions(successors);
        actor.execute(() -> finish(begun));
      });
    }
  }

  private void finish(IndexResize done) {
    members.finishResize(done);
    resize = null;
    events.resume();
    log.info(
        "cell {} decides from an index of {} slots after {} ms",
        cell, done.index().slots(), (services.clock().nanos() - done.startedNanos()) / 1_000_000);
    onFinished.run();
  }
}
