package io.kvasir.cell.worker;

import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.events.EventState;
import io.kvasir.routing.cost.LearntCost;
import org.jspecify.annotations.Nullable;

/** A member as administration and metrics show it, as a worker of a cell. */
public final class MemberDescription {
  private MemberDescription() {}

  /**
   * Its state now. Takes no lock.
   *
   * @param learnt the learnt cost of its deployment, null when there is none
   * @param answers answers of it that came whole, as its home has counted them
   * @param answerTokens tokens that are expected of one
   */
  public static WorkerStatus of(
      Member member, String cell, @Nullable LearntCost learnt, long answers, double answerTokens) {
    WorkerHealth.State state = member.healthState();
    return new WorkerStatus(
        member.worker(),
        cell,
        state.health(),
        state.reason(),
        member.isDraining(),
        load(member, learnt, answers, answerTokens),
        index(member),
        member.eventStreamHealth().status(member.cache().events().connected()));
  }

  private static WorkerStatus.Load load(
      Member member, @Nullable LearntCost learnt, long answers, double answerTokens) {
    WorkerLoad load = member.load();
    return new WorkerStatus.Load(
        load.inFlight(),
        load.pendingTokens(),
        member.report(),
        cost(learnt),
        new WorkerStatus.Work(load.queueMs(), load.bookedMs(), load.contextTokens(), answers, answerTokens));
  }

  private static WorkerStatus.@Nullable PrefillCost cost(@Nullable LearntCost learnt) {
    return learnt == null || learnt.samples() == 0
        ? null
        : new WorkerStatus.PrefillCost(learnt.cost().msPerToken(), learnt.cost().msPerPair(), learnt.samples());
  }

  private static WorkerStatus.IndexState index(Member member) {
    EventState events = member.cache().events();
    CacheHitAccuracy accuracy = member.accuracy();
    return new WorkerStatus.IndexState(
        member.cache().blocks().size() / events.parts(),
        member.pod().engine().capacityBlocks(),
        Math.ceilDiv(member.cache().blocks().predicted(), events.parts()),
        events.suspect(),
        accuracy.trust(),
        accuracy.resyncs(),
        events.lastSequence(),
        accuracy.promises(),
        member.cache().speculation(),
        events.blockSize(),
        events.parts());
  }
}
