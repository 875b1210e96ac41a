package io.kvasir.cell.home;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestPrompts;
import io.kvasir.cell.worker.Member;
import io.kvasir.events.EventFeed;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.index.WorkerBlocks;
import io.kvasir.routing.Booking;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.cost.CostModel;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Slots and the index behind them, while it is rebuilt into a wider one: without actors, one step at a time. */
final class MembersTest {
  private static final int BLOCK = 16;
  private final CellServices services = TestServices.deciding("prefix-aware").clock(() -> 1_000_000_000L).build();
  private final Members members = new Members("m", services);
  private final List<Member> first = admit("a", 64);

  private List<Member> admit(String pod, int ranks) {
    PodSpec spec =
        TestPods.pod(pod).ranks(ranks).blockSize(BLOCK).events(List.of(new EventFeed.Push("key"))).build();
    return TestCell.admit(members, spec);
  }

  private static Chain chain(int seed) {
    return TestPrompts.chain(seed, 20, BLOCK);
  }

  private static void store(Member member, Chain chain) {
    long[] hashes = chain.hashes();
    member.cache().blocks().store(0, true, hashes, hashes, hashes.length, Tier.DEVICE, true);
  }

  private Decision.Chosen decide(Chain chain) {
    Decision decision =
        members.view().decide(
            new DecisionRequest(
                "r", "m", null, RequestShape.INDIVISIBLE, new DecisionRequest.Prompt(chain, 20 * BLOCK + 1),
                PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE));
    assertThat(decision).isInstanceOf(Decision.Planned.class);
    return ((Decision.Planned) decision).last();
  }

  private void handOver(IndexResize widening) {
    widening.successors().forEach((member, heir) -> member.cache().blocks().handOver().forEachRemaining(heir::take));
    assertThat(widening.tryComplete()).isTrue();
    IndexResize.transferPredictions(widening.successors());
    members.finishResize(widening);
  }

  @Test
  void admit_noSlotLeft_waits() {
    assertThat(first).hasSize(64);
    assertThat(admit("b", 1)).isEmpty();
    assertThat(members.needsResize(64)).isFalse();
    assertThat(members.needsResize(65)).isTrue();
  }

  @Test
  void widen_everybodyKeepsSlotBlocksAndLoad() {
    store(first.get(63), chain(1));
    Decision.Chosen before = decide(chain(1));
    assertThat(before.worker().slot()).isEqualTo(63);
    handOver(members.beginResize(65));
    Decision.Chosen after = decide(chain(1));
    assertThat(after.worker()).isEqualTo(before.worker());
    assertThat(after.depth()).isEqualTo(20);
    assertThat(first.get(63).load().inFlight()).isEqualTo(2);
    before.reservation().close(new Outcome.Cancelled());
    after.reservation().close(new Outcome.Cancelled());
    assertThat(first.get(63).load().inFlight()).isZero();
    assertThat(admit("b", 1).getFirst().worker().slot()).isEqualTo(64);
    assertThat(members.needsResize(129)).isTrue();
  }

  @Test
  void widen_asWideAsTheWorkersNeed_andNoWiderThanCanBe() {
    assertThat(members.beginResize(129).index().slots()).isEqualTo(256);
    members.cancelResize();
    handOver(members.beginResize(1000));
    assertThat(members.needsResize(1000)).isFalse();
  }

  @Test
  void widen_whatIsPredictedMovesToo_andIsTakenBackThere() {
    Decision.Chosen before = decide(chain(1));
    Member chosen = first.get(before.worker().slot());
    assertThat(chosen.cache().blocks().predicted()).isEqualTo(20);
    IndexResize widening = members.beginResize(65);
    Decision.Chosen meanwhile = decide(chain(1));
    assertThat(meanwhile.worker()).isEqualTo(before.worker());
    handOver(widening);
    assertThat(chosen.cache().blocks().predicted()).isEqualTo(20);
    Decision.Chosen after = decide(chain(1));
    assertThat(after.depth()).isEqualTo(20);
    before.reservation().close(new Outcome.Cancelled());
    meanwhile.reservation().close(new Outcome.Cancelled());
    assertThat(chosen.cache().blocks().predicted()).isEqualTo(20);
    after.reservation().close(new Outcome.Cancelled());
    assertThat(chosen.cache().blocks().predicted()).isZero();
  }

  @Test
  void retire_whileWidening_isGoneFromBoth_andItsSlotIsFreeAfterTheSweep() {
    Member leaving = first.get(5);
    store(leaving, chain(1));
    store(first.get(6), chain(2));
    IndexResize widening = members.beginResize(65);
    WorkerBlocks heir = Objects.requireNonNull(widening.successors().get(leaving));
    leaving.cache().blocks().handOver().forEachRemaining(heir::take);
    Members.Retired retired = members.retire(leaving);
    assertThat(decide(chain(1)).depth()).isZero();
    handOver(widening);
    assertThat(decide(chain(1)).worker().slot()).isNotEqualTo(5);
    assertThat(admit("b", 2)).extracting(member -> member.worker().slot()).containsExactly(64, 65);
    Members.sweep(List.of(retired));
    members.free(5);
    Member next = admit("c", 1).getFirst();
    assertThat(next.worker().slot()).isEqualTo(5);
    assertThat(next.cache().blocks().size()).isZero();
    assertThat(decide(chain(2)).worker().slot()).isEqualTo(6);
  }

  /** Three times as slow for the first one as for the others. */
  private void complete(List<Member> workers) {
    for (int tokens = 500; tokens < 10_000; tokens += 100) {
      for (Member each : workers) {
        int slowness = each.equals(first.getFirst()) ? 3 : 1;
        double millis = CostModel.bundled().of(each.worker().deployment()).prefillMs(tokens, tokens);
        each.prefillCompleted(
            new Booking(tokens, tokens, 1), 0, new Outcome.Completed(tokens, 0, 1, (long) (slowness * millis * 1e3)));
      }
    }
  }

  private double pace(Member member) {
    return services.profiles().costs().pace(member.worker().instance());
  }

  @Test
  void retire_forgetsTheWorkersPace_forGood() {
    Member slow = first.getFirst();
    complete(first.subList(0, 4));
    assertThat(pace(slow)).isGreaterThan(2);

    members.retire(slow);
    assertThat(pace(slow)).isOne();
    complete(List.of(slow));

    assertThat(pace(slow)).as("of requests that were at it still").isOne();
  }

  @Test
  void close_forgetsTheWorkersPaces() {
    complete(first.subList(0, 4));

    members.close();

    assertThat(first).allSatisfy(each -> assertThat(pace(each)).isOne());
  }

  @Test
  void stay_afterAWideningThatFailed_goesOnWithTheNarrowIndex() {
    store(first.get(1), chain(1));
    IndexResize widening = members.beginResize(65);
    widening.handOverRequested(first.get(1));
    assertThat(widening.tryComplete()).isFalse();
    members.cancelResize();
    store(first.get(2), chain(2));
    assertThat(decide(chain(2)).worker().slot()).isEqualTo(2);
    Members.Retired retired = members.retire(first.get(2));
    assertThat(retired.resizedIndex()).isSameAs(retired.index());
    Members.sweep(List.of(retired));
    assertThat(decide(chain(1)).depth()).isEqualTo(20);
  }

  @Test
  void sweep_ofAWorkerThatIsStillThere_isRefused() {
    Members.Retired retired = members.retire(first.get(1));
    Members.Retired wrong = new Members.Retired(2, retired.index(), retired.resizedIndex());
    assertThatThrownBy(() -> Members.sweep(List.of(wrong))).isInstanceOf(IllegalStateException.class);
  }
}
