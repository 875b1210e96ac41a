package io.kvasir.cell.home;

import io.kvasir.cell.view.WorkerCounters;
import io.kvasir.cell.view.PromptBlockSize;
import io.kvasir.cell.worker.Member;
import io.kvasir.events.EventFeed;
import java.util.HashSet;
import java.util.Set;
import org.slf4j.Logger;

/**
 * Keeps what the index has of a cell's members usable and true: has it cut as prompts are, and drops what is too old,
 * what answers contradict and what a process held that is gone. The cell's actor's.
 */
final class IndexUpkeep {
  private final Members members;
  private final EventActors events;
  private final IndexResizer resizer;
  private final PromptBlockSize promptBlockSize;
  private final WorkerCounters counters;
  private final Logger log;

  /** Tokens in a block into which prompts are cut, 0 until one has come. */
  private int promptBlock;

  /** Members whose answers have contradicted an index that cannot be read again. */
  private final Set<Member> distrusted = new HashSet<>();

  IndexUpkeep(
      Members members,
      EventActors events,
      IndexResizer resizer,
      PromptBlockSize promptBlockSize,
      WorkerCounters counters,
      Logger log) {
    this.members = members;
    this.events = events;
    this.resizer = resizer;
    this.promptBlockSize = promptBlockSize;
    this.counters = counters;
    this.log = log;
  }

  void memberAdded(Member member) {
    events.cutInto(member, promptBlock);
  }

  void memberRemoved(Member member) {
    distrusted.remove(member);
  }

  /** To be called now and then. */
  void check(long nowNanos) {
    cutBlocks(nowNanos);
    for (Member member : members.all()) {
      member.cache().expire(nowNanos);
      if (!WorkerEvents.canReadAgain(member)) {
        noteDistrust(member);
      } else if (!resizer.isActive() && member.accuracy().takeDue(nowNanos)) {
        resynchronise(member);
      }
    }
  }

  /** Has what workers hold cut as prompts are. */
  void cutBlocks(long nowNanos) {
    int tokens = promptBlockSize.tokens(nowNanos);
    if (tokens != promptBlock) {
      promptBlock = tokens;
      members.all().forEach(member -> events.cutInto(member, tokens));
    }
  }

  /** What cannot be read again is not dropped: it counts for less while answers contradict it. */
  private void noteDistrust(Member member) {
    if (member.accuracy().trust() < 1 && distrusted.add(member)) {
      log.warn(
          "the index of worker {} is wrong, its answers report less cached than was predicted: its events cannot be"
              + " read again, so it counts for less while they do",
          member.worker().id());
    }
  }

  /** Drops what is known of a worker, and reads its engine's events again from the beginning. */
  private void resynchronise(Member member) {
    counters.resynchronised(member);
    boolean again = events.resynchronise(member);
    log.warn(
        "the index of worker {} is wrong, its answers report less cached than was predicted: it is dropped{}",
        member.worker().id(),
        again ? " and its events are read again" : "");
  }

  /**
   * Drops what is known of a worker whose process is gone, unless its event stream is direct: that notices the loss and
   * whether what comes back is the same process. Where engines dial in, or publish through a broker, nothing would say
   * so before the next process has stored something.
   */
  void processLost(Member member) {
    boolean direct = member.pod().events().stream().anyMatch(EventFeed::direct);
    boolean moving = member.pod().events().isEmpty() && resizer.isActive();
    if (!direct && !moving && member.cache().blocks().size() + member.cache().blocks().predicted() > 0) {
      events.forget(member);
      log.info("nothing listens at worker {} any more: what its process held is forgotten", member.worker().id());
    }
  }
}
