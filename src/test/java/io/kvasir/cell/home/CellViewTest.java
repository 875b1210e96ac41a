package io.kvasir.cell.home;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.ProfileSet;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestProfiles;
import io.kvasir.cell.TestSettings;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.events.EventApplier;
import io.kvasir.cell.worker.HitPrediction;
import io.kvasir.cell.worker.Member;
import io.kvasir.events.EventFeed;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.Deployment;
import io.kvasir.routing.cost.LearntCost;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionLogSettings;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Decisions against a cell of four workers: what they predict, and what becomes of it. */
final class CellViewTest {
  private static final int BLOCK = 16;
  private static final int PROMPT = 64 * BLOCK + 5;

  private static final ActorTestKit KIT = ActorTestKit.create();

  private static final List<EventFeed> FEEDS = List.of(new EventFeed.Push(""));

  private long now = 1_000_000_000L;
  private CostModel costs = CostModel.bundled();
  private DecisionLog log = DecisionLog.off(new Metrics(new PrometheusRegistry()));
  private Members members = members();

  private Members members() {
    Metrics metrics = new Metrics(new PrometheusRegistry());
    ProfileSet profiles = TestProfiles.builtIn("expected-cost", metrics);
    costs = profiles.costs();
    log = new DecisionLog(new DecisionLogSettings(null, 1, 100), metrics);
    // Short answers: what many contexts cost each other in decoding would be a reason of its own to spread.
    IntStream.range(0, 400).forEach(_ -> profiles.outputs().observe("m", 1));
    CellServices services =
        TestServices.of(KIT, TestSettings.CELL, profiles, metrics, log, () -> now);
    return new Members("m", services);
  }

  @BeforeEach
  void seat() {
    seat(16, FEEDS);
  }

  private void seat(int maxInFlight, List<EventFeed> events) {
    for (int i = 0; i < 4; i++) {
      PodSpec pod =
          TestPods.pod("w" + i)
              .blockSize(BLOCK)
              .maxInFlight(maxInFlight)
              .events(events)
              .build();
      members.admit(new PodEntry(pod, PodSource.CONFIG)).forEach(member -> member.health().reachability().onSuccess());
    }
  }

  @AfterAll
  static void stop() {
    KIT.shutdownTestKit();
  }

  private static Chain chain(int seed, int blocks) {
    long[] hashes = new long[blocks];
    for (int i = 0; i < blocks; i++) {
      hashes[i] = BlockHash.chained(i == 0 ? BlockHash.NONE : hashes[i - 1], seed * 1000L + i + 1);
    }
    return new Chain(hashes, BLOCK);
  }

  private Decision.Planned plan(Chain chain) {
    Decision decision =
        members.view().decide(
            new DecisionRequest(
                "r", "m", null, RequestShape.INDIVISIBLE, new DecisionRequest.Prompt(chain, PROMPT),
                PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE));
    assertThat(decision).isInstanceOf(Decision.Planned.class);
    return (Decision.Planned) decision;
  }

  private Decision.Chosen decide(Chain chain) {
    return plan(chain).last();
  }

  private Member member(Decision.Chosen chosen) {
    return members.all().stream().filter(m -> m.worker().equals(chosen.worker())).findAny().orElseThrow();
  }

  private int predicted() {
    return members.all().stream().mapToInt(member -> member.blocks().predicted()).sum();
  }

  private void tick() {
    members.all().forEach(member -> member.expire(now));
  }

  @Test
  void firstToken_ofAStreamThatEndsWell_teachesWhatPromptsCost() {
    for (int i = 0; i < 50; i++) {
      Decision.Chosen chosen = decide(chain(i, 64));
      chosen.reservation().firstToken();
      chosen.reservation().close(new Outcome.Completed(PROMPT, 0, 10, 2_000_000));
    }

    assertThat(costs.learnt().values()).singleElement().extracting(LearntCost::samples).isEqualTo(50L);
    Deployment deployment = new Deployment("h100-Qwen2.5-7B-tp1", "m");
    assertThat(costs.of(deployment).prefillMs(PROMPT, PROMPT))
        .isGreaterThan(5 * CostModel.bundled().of(deployment).prefillMs(PROMPT, PROMPT));
  }

  @Test
  void explain_tellsWhatDecideThenDoes_andBooksNothing() {
    Decision.Chosen holder = decide(chain(1, 64));
    holder.reservation().close(new Outcome.Completed(PROMPT, 0, 10, 1000));
    String out = holder.worker().id().equals("w3") ? "w2" : "w3";
    DecisionRequest request =
        new DecisionRequest(
            "x", "m", null, RequestShape.INDIVISIBLE, new DecisionRequest.Prompt(chain(1, 40), PROMPT),
            PreparedSlots.EMPTY, false, DecisionRequest.Constraints.excluding(Set.of(out)));

    DecisionRecord explained = members.view().explain(request);

    assertThat(members.all()).allMatch(member -> member.load().inFlight() == 0);
    assertThat(log.recent(decision -> decision.requestId().equals("x"), 10)).isEmpty();
    Decision.Planned planned = (Decision.Planned) members.view().decide(request);
    DecisionRecord.StepRecord step = explained.plan().getFirst();
    assertThat(step.worker()).isEqualTo(planned.last().worker().id());
    assertThat(step.depth()).isEqualTo(planned.last().depth()).isEqualTo(40);
    assertThat(explained.chain()).hasSize(40);
    assertThat(explained.passes().getFirst().candidates()).hasSize(4).anySatisfy(candidate -> {
      assertThat(candidate.worker()).isEqualTo(out);
      assertThat(candidate.removedBy()).isEqualTo("excluded");
      assertThat(candidate.scores()).isEmpty();
    }).anySatisfy(candidate -> {
      assertThat(candidate.worker()).isEqualTo(step.worker());
      assertThat(candidate.tiers()).containsExactly(Map.entry("device", 40));
    });
  }

  @Test
  void decide_sampled_isRecordedWithItsEnd() {
    Decision.Chosen chosen = decide(chain(1, 64));
    chosen.reservation().firstToken();
    chosen.reservation().close(new Outcome.Completed(PROMPT, 0, 10, 2500));
    chosen.reservation().close(new Outcome.Cancelled());

    DecisionLog.Entry entry = log.recent(_ -> true, 10).getFirst();
    assertThat(entry.decision().plan()).singleElement().extracting(DecisionRecord.StepRecord::worker)
        .isEqualTo(chosen.worker().id());
    assertThat(entry.outcomes()).singleElement().satisfies(outcome -> {
      assertThat(outcome.outcome()).isEqualTo("completed");
      assertThat(outcome.ttftMs()).isEqualTo(2.5);
      assertThat(outcome.cachedTokens()).isZero();
    });
    assertThat(member(chosen).load().inFlight()).isZero();
  }

  @Test
  void firstByte_ofAnAnswerThatCameWhole_teachesNothing() {
    decide(chain(1, 64)).reservation().close(new Outcome.Completed(PROMPT, 0, 10, 2_000_000));

    assertThat(costs.learnt()).isEmpty();
  }

  @Test
  void siblings_meet_beforeTheEngineHasSaidAnything() {
    Decision.Planned first = plan(chain(1, 64));
    assertThat(first.reason()).doesNotContain("predicted");
    Decision.Planned again = plan(chain(1, 64));
    assertThat(again.reason()).contains("depth=64/64").endsWith("; predicted=64");
    Decision.Chosen second = again.last();
    assertThat(second.worker()).isEqualTo(first.last().worker());
    assertThat(second.depth()).isEqualTo(64);
    assertThat(second.predictedCachedTokens()).isEqualTo(64 * BLOCK);
    assertThat(second.confirmedCachedTokens()).isZero();
  }

  /** All look at once, none has predicted yet: they still meet, as far as a worker has room. */
  @ParameterizedTest
  @ValueSource(ints = {16, 10, 7})
  void burst_ofIdenticalPrompts_landsOnOneWorker_upToItsLimit(int limit) throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(16)) {
      for (int round = 0; round < 20; round++) {
        members = members();
        seat(limit, FEEDS);
        Chain chain = chain(round, 64);
        CyclicBarrier together = new CyclicBarrier(16);
        List<Future<Decision.Chosen>> burst = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
          burst.add(threads.submit(() -> {
            together.await();
            return decide(chain);
          }));
        }
        for (Future<Decision.Chosen> one : burst) {
          one.get();
        }
        List<Integer> inFlight =
            members.all().stream().map(member -> member.load().inFlight()).sorted().toList().reversed();
        assertThat(inFlight)
            .isEqualTo(IntStream.of(0, 1, 2, 3).mapToObj(w -> Math.clamp(16 - w * limit, 0, limit)).toList());
      }
    }
  }

  @Test
  void failedBeforeItsFirstToken_isTakenBack() {
    for (Outcome outcome :
        List.of(new Outcome.Failed(false, "x"), new Outcome.Cancelled(), new Outcome.Refused(503))) {
      decide(chain(1, 64)).reservation().close(outcome);
      assertThat(predicted()).isZero();
    }
  }

  @Test
  void failedAfterItsFirstToken_orCompleted_staysPredicted() {
    Decision.Chosen streamed = decide(chain(1, 64));
    streamed.reservation().firstToken();
    streamed.reservation().close(new Outcome.Cancelled());
    decide(chain(2, 64)).reservation().close(new Outcome.Completed(PROMPT, 0, 5, 1));
    assertThat(predicted()).isEqualTo(128);
  }

  @Test
  void failed_leavesWhatSiblingsRelyOn() {
    Decision.Chosen first = decide(chain(1, 64));
    Decision.Chosen second = decide(chain(1, 64));
    first.reservation().close(new Outcome.Cancelled());
    assertThat(predicted()).isEqualTo(64);
    second.reservation().close(new Outcome.Cancelled());
    assertThat(predicted()).isZero();
  }

  @Test
  void unconfirmed_isForgottenAfterAWhile() {
    decide(chain(1, 64));
    now += TestSettings.CELL.prediction().min().toNanos() - 1;
    tick();
    assertThat(predicted()).isEqualTo(64);
    now += TestSettings.CELL.prediction().max().toNanos();
    tick();
    assertThat(predicted()).isZero();
  }

  @Test
  void events_confirm() {
    Decision.Chosen chosen = decide(chain(1, 64));
    Member member = member(chosen);
    confirm(member, 1, 40);
    assertThat(predicted()).isEqualTo(24);
    Decision.Planned next = plan(chain(1, 64));
    assertThat(next.last().confirmedCachedTokens()).isEqualTo(40 * BLOCK);
    assertThat(next.reason()).endsWith("; predicted=24");
    now += TestSettings.CELL.prediction().max().toNanos() * 2;
    tick();
    assertThat(decide(chain(1, 64)).depth()).isEqualTo(40);
  }

  private static void confirm(Member member, int seed, int blocks) {
    long[] hashes = chain(seed, blocks).hashes();
    member.blocks().store(0, true, hashes, hashes, blocks, Tier.DEVICE, true);
  }

  @Test
  void approximate_remembersWithoutEvents_upToItsCapacity() {
    members = members();
    seat(16, List.of());
    members.all().stream().skip(1).forEach(member -> member.drain(true));
    Decision.Chosen first = decide(chain(1, 64));
    first.reservation().close(new Outcome.Completed(PROMPT, 0, 5, 1));
    now += TestSettings.CELL.prediction().max().toNanos() * 100;
    tick();
    Decision.Chosen second = decide(chain(1, 64));
    assertThat(second.worker()).isEqualTo(first.worker());
    assertThat(second.depth()).isEqualTo(64);
    for (int i = 0; i < 20; i++) {
      decide(chain(100 + i, 64)).reservation().close(new Outcome.Completed(PROMPT, 0, 5, 1));
    }
    assertThat(predicted()).isEqualTo(1000);
    assertThat(decide(chain(1, 64)).depth()).isZero();
  }

  @Test
  void approximate_forTextOnAWorkerWithEvents() {
    Chain text = new Chain(chain(1, 64).hashes(), 8);
    Decision.Chosen first = decide(text);
    now += TestSettings.CELL.prediction().max().toNanos() * 100;
    tick();
    Decision.Chosen second = decide(text);
    assertThat(second.worker()).isEqualTo(first.worker());
    assertThat(second.depth()).isEqualTo(64);
  }

  @Test
  void lyingIndex_isDiscounted_untilAnswersConfirmIt() {
    Member liar = members.all().getFirst();
    for (int seed = 0; seed < 12; seed++) {
      confirm(liar, seed, 64);
    }
    for (int seed = 0; seed < 12; seed++) {
      Decision.Chosen chosen = decide(chain(seed, 64));
      assertThat(chosen.worker()).isEqualTo(liar.worker());
      chosen.reservation().close(new Outcome.Completed(PROMPT, PROMPT / 4, 5, 1));
    }
    assertThat(liar.accuracy().trust()).isBetween(0.2, 0.3);
    assertThat(liar.status("m").index().trust()).isEqualTo(liar.accuracy().trust());
    tick();
    Decision.Chosen doubted = decide(chain(3, 64));
    assertThat(doubted.depth()).isLessThan(20);

    for (int i = 0; i < 32; i++) {
      HitPrediction forecast = liar.predict(chain(3, 64), 64);
      liar.requestEnded(null, "m", new Outcome.Completed(PROMPT, 64 * BLOCK, 5, 1), PROMPT, forecast);
    }
    assertThat(liar.accuracy().trust()).isEqualTo(1);
    tick();
    assertThat(decide(chain(3, 64)).depth()).isEqualTo(64);
  }

  @Test
  void unconfirmedPredictions_areNoPromises() {
    for (int i = 0; i < 40; i++) {
      Decision.Chosen chosen = decide(chain(1, 64));
      chosen.reservation().close(new Outcome.Completed(PROMPT, 0, 5, 1));
    }
    assertThat(members.all()).allMatch(member -> member.accuracy().trust() == 1);
  }

  @Test
  void engineThatReportsNothing_isBelieved() {
    Member worker = members.all().getFirst();
    confirm(worker, 1, 64);
    for (int i = 0; i < 40; i++) {
      decide(chain(1, 64)).reservation().close(new Outcome.Completed(PROMPT, Outcome.UNKNOWN, 5, 1));
    }
    assertThat(worker.accuracy().trust()).isEqualTo(1);
  }

  @Test
  void whatTheEngineEvictedWhileAPromptWaited_isNoLie() {
    Member member = members.all().getFirst();
    EventApplier applier = new EventApplier(member.blocks(), BLOCK);
    for (int i = 0; i < 40; i++) {
      HitPrediction forecast = held(member, applier, 2 * i);
      assertThat(forecast.expectedTokens(6 * BLOCK)).isEqualTo(4 * BLOCK);
      tell(member, applier, 2 * i + 1, new KvEvent.Removed(new long[] {1, 2, 3, 4}, Tier.DEVICE, KvEvent.UNSPECIFIED));
      member.requestEnded(null, "m", new Outcome.Completed(6 * BLOCK, 0, 5, 1), 6 * BLOCK, forecast);
    }
    assertThat(member.accuracy().trust()).isEqualTo(1);
  }

  @Test
  void whatTheEngineStoresAgain_hadBeenLostUntold() {
    Member member = members.all().getFirst();
    EventApplier applier = new EventApplier(member.blocks(), BLOCK);
    for (int i = 0; i < 40; i++) {
      HitPrediction forecast = held(member, applier, 2 * i);
      tell(member, applier, 2 * i + 1, fourBlocks());
      member.requestEnded(null, "m", new Outcome.Completed(6 * BLOCK, 0, 5, 1), 6 * BLOCK, forecast);
    }
    assertThat(member.accuracy().trust()).isZero();
  }

  /** What is expected of a worker that has told of the four blocks that a prompt begins with. */
  private HitPrediction held(Member member, EventApplier applier, int sequence) {
    tell(member, applier, sequence, fourBlocks());
    long[] hashes = new long[6];
    int[] tokens = IntStream.range(0, 6 * BLOCK).toArray();
    BlockHash.in(null, null).chain(BlockHash.NONE, tokens, 0, tokens.length, BLOCK, hashes, 0);
    return member.predict(new Chain(hashes, BLOCK), 4);
  }

  private static void tell(Member member, EventApplier applier, int sequence, KvEvent event) {
    applier.apply(new KvBatch(sequence, 0, 0, List.of(event)), 0);
    member.events(applier.state());
  }

  private static Stored fourBlocks() {
    return new Stored(
        true, 0, new long[] {1, 2, 3, 4}, IntStream.range(0, 4 * BLOCK).toArray(), BLOCK, Tier.DEVICE, null, null,
        KvEvent.UNSPECIFIED, KvEvent.Spec.UNSPECIFIED, List.of());
  }

  @Test
  void events_inABlockSizeOfTheirOwn_speakOfOtherBlocks() {
    Member member = members.all().getFirst();
    EventApplier applier = new EventApplier(member.blocks(), BLOCK);
    int[] tokens = IntStream.range(0, 64).toArray();
    applier.apply(
        new KvBatch(
            0, 0, 0,
            List.of(
                new Stored(
                    true, 0, new long[] {1, 2}, tokens, 32, Tier.DEVICE, null, null, KvEvent.UNSPECIFIED,
                    KvEvent.Spec.UNSPECIFIED, List.of()))),
        0);
    member.events(applier.state());
    assertThat(member.predict(chain(1, 5), 0).reported()).isFalse();
    assertThat(member.predict(new Chain(chain(1, 5).hashes(), 32), 0).reported()).isTrue();
  }
}
