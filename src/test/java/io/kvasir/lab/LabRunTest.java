package io.kvasir.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.kvasir.enginemodel.EngineModel;
import io.kvasir.enginemodel.StepTime;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.DoubleAdder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class LabRunTest {
  private static final StepTime TIME = EngineModel.named(TestTraces.ENGINE).stepTime();

  @Test
  void execute_oneRequest_takesItsStepsTimes() {
    WorkloadTrace trace = new WorkloadTrace(512, List.of(LabRequest.at(100, 10_000, 3, BlockHashes.of(), "")));

    RunReport report = TestTraces.report(trace, 1, "random", "exact", 1);

    double first = prefill(8192, 0) + prefill(10_000 - 8192, 8192);
    double further = decode(10_000) + decode(10_001);
    assertThat(report.latencies().ttft().mean()).isCloseTo(first, within(1e-6));
    assertThat(report.latencies().tpot().mean()).isCloseTo(further / 2, within(1e-6));
    assertThat(report.latencies().e2e().p99()).isCloseTo(first + further, within(1e-6));
    assertThat(report.goodput()).isOne();
    assertThat(report.cache().rate()).isZero();
  }

  @Test
  void execute_theSamePromptAgain_findsItsFullBlocksButForTheLastToken() {
    BlockHashes chain = BlockHashes.of(BlockHashes.hashOf(1), BlockHashes.hashOf(2));
    WorkloadTrace trace =
        new WorkloadTrace(512, List.of(LabRequest.at(0, 1024, 1, chain, ""), LabRequest.at(5000, 1024, 1, chain, "")));

    RunReport report = TestTraces.report(trace, 4, "expected-cost", "exact", 1);

    assertThat(report.cache().rate()).isEqualTo(512.0 / 2048);
    assertThat(report.cache().ceiling()).isEqualTo(report.cache().rate());
    assertThat(report.imbalance()).as("all on one of four").isEqualTo(4);
  }

  @Test
  void execute_aTurnThatWaits_comesAfterTheAnswerAndTheThought() {
    LabRequest first = LabRequest.at(50, 100, 20, BlockHashes.of(), "s");
    WorkloadTrace trace =
        new WorkloadTrace(512, List.of(first, LabRequest.at(0, 100, 1, BlockHashes.of(), "s").following(0, 700)));
    RunReport alone = TestTraces.report(new WorkloadTrace(512, List.of(first)), 1, "random", "exact", 1);
    double answerMs = alone.latencies().e2e().mean();

    RunReport report = TestTraces.report(trace, 1, "random", "exact", 1);

    double spanMs = 21 / report.outputTokensPerSecond() * 1e3;
    assertThat(spanMs).isCloseTo(answerMs + 700 + prefill(100, 0), within(1e-6));
  }

  @Test
  void execute_coefficientsThatAreWrong_areLearntFromFirstTokens() {
    WorkloadTrace trace = TestTraces.random(2000, 5);

    double exact = hitRate(trace, "exact");
    double wrong = hitRate(trace, "off:0.05");
    double learnt = hitRate(trace, "learnt:0.05");

    assertThat(wrong).as("caches count for little").isLessThan(0.99 * exact);
    assertThat(learnt).isCloseTo(exact, within((exact - wrong) / 2));
  }

  /**
   * Long conversations, half as many again as fit: who has to compute does so where caches are lost anyway. A mean over
   * several, since which worker loses its cache first is chance, and much follows from it.
   */
  @Test
  void execute_moreThanFitsIntoMemory_isComputedWhereLeastIsLost() {
    double gain = 0;
    for (int seed = 1; seed <= 8; seed++) {
      WorkloadTrace trace = longConversations(seed);
      gain +=
          TestTraces.report(trace, "3", "expected-cost", "").cache().rate()
              - TestTraces.report(trace, "3", "expected-cost", "expected-cost.score.eviction = 0").cache().rate();
    }

    assertThat(gain / 8).isGreaterThan(0.05);
  }

  private static WorkloadTrace longConversations(int seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<LabRequest> turns = new ArrayList<>();
    for (int session = 0; session < 36; session++) {
      for (int turn = 0; turn < 25; turn++) {
        long[] chain = new long[150 + turn];
        for (int block = 0; block < chain.length; block++) {
          chain[block] = BlockHashes.hashOf(session * 1_000L + block);
        }
        int atMs = turn == 0 ? 5_000 * session : 0;
        LabRequest request = LabRequest.at(atMs, chain.length * 512 + 1, 20, BlockHashes.of(chain), "");
        turns.add(turn == 0 ? request : request.following(turns.size() - 1, random.nextInt(60_000)));
      }
    }
    return new WorkloadTrace(512, turns);
  }

  @Test
  void execute_anEngineSlowerThanItsName_takesSoMuchLonger() {
    WorkloadTrace trace = new WorkloadTrace(512, List.of(LabRequest.at(100, 10_000, 3, BlockHashes.of(), "")));

    RunReport asNamed = report(trace, TestTraces.ENGINE, "off", 0);
    RunReport slow = report(trace, TestTraces.ENGINE + "/2", "off", 0);

    assertThat(slow.latencies().e2e().mean()).isCloseTo(2 * asNamed.latencies().e2e().mean(), within(1e-6));
  }

  @Test
  void execute_anEngineSlowerThanItsName_isFoundOut() {
    String engines = "3*" + TestTraces.ENGINE + ",1*" + TestTraces.ENGINE + "/2";
    RunReport report =
        TestTraces.report(
            TestTraces.random(3000, 5), TestTraces.machines(engines, 4, "off", 0), LabPlan.Conditions.NONE, "learnt");

    assertThat(report.estimates().worstError()).isLessThan(0.15);
  }

  /** It is only fed with what the run's engines do: the rule itself does not know the slow one. */
  @Test
  void execute_aRuleThatLearns_leavesASlowEngineAlone() {
    WorkloadTrace trace = TestTraces.random(3000, 5);
    LabPlan.Machines machines = TestTraces.machines("3*" + TestTraces.ENGINE + ",1*" + TestTraces.ENGINE + "/8", 4,
        "off", 0);

    double learnt = TestTraces.report(trace, machines, "lodestar").latencies().ttft().mean();
    double notLearnt = TestTraces.report(trace, machines, "work-left").latencies().ttft().mean();

    assertThat(learnt).isLessThan(0.9 * notLearnt);
  }

  @Test
  void execute_enginesNobodyNamed_areFoundOut() {
    String engines = "3*h100-Llama-3.1-8B-tp1,1*a100-Llama-3.1-8B-tp1";
    RunReport report =
        TestTraces.report(
            TestTraces.random(3000, 5), TestTraces.machines(engines, 4, "off", 0), LabPlan.Conditions.NONE, "unnamed");

    assertThat(report.estimates().worstError()).isLessThan(0.15);
  }

  @Test
  void execute_enginesThatStall_haveALongTailAndTheSameMedian() {
    WorkloadTrace trace = TestTraces.random(2000, 5);

    RunReport steady = TestTraces.report(trace, TestTraces.machines(TestTraces.ENGINE, 4, "off", 0),
        LabPlan.Conditions.NONE, "exact");
    RunReport stalling = TestTraces.report(trace, TestTraces.machines(TestTraces.ENGINE, 4, "4:800", 0),
        LabPlan.Conditions.NONE, "exact");

    assertThat(stalling.latencies().ttft().p99()).isGreaterThan(1.1 * steady.latencies().ttft().p99());
    assertThat(stalling.latencies().ttft().p50()).isLessThan(1.5 * steady.latencies().ttft().p50());
    assertThat(stalling.setup().options()).isEqualTo("stalls 4:800");
  }

  /** A second engine prompt pushes the first out of a cache that is too small, but not out of the host's memory. */
  @Test
  void execute_whatTheCacheLost_isLoadedFromHostMemory() {
    int blocks = TestTraces.KV_TOKENS / 512;
    LabRequest first = prompt(0, 0, blocks * 2 / 3);
    WorkloadTrace trace =
        new WorkloadTrace(512, List.of(first, prompt(1, 300_000, blocks * 2 / 3), first.arriving(600_000)));

    RunReport without = report(trace, TestTraces.ENGINE, "off", 0);
    RunReport with = report(trace, TestTraces.ENGINE, "off", 1000);

    assertThat(with.latencies().ttft().p50()).isCloseTo(without.latencies().ttft().p50(), within(1.0));
    // The third prompt: computed in full, or loaded over the link but for what the cache had left.
    assertThat(with.latencies().ttft().mean()).isLessThan(0.8 * without.latencies().ttft().mean());
  }

  private static LabRequest prompt(int number, double atMs, int blocks) {
    long[] chain = new long[blocks];
    for (int block = 0; block < blocks; block++) {
      chain[block] = BlockHashes.hashOf(number * 1_000_000L + block);
    }
    return LabRequest.at(atMs, blocks * 512 + 1, 1, BlockHashes.of(chain), "");
  }

  @Test
  void execute_warmUp_doesNotCountButFillsTheCaches() {
    BlockHashes chain = BlockHashes.of(BlockHashes.hashOf(1), BlockHashes.hashOf(2));
    LabRequest cold = LabRequest.at(0, 1024, 1, chain, "");
    WorkloadTrace trace = new WorkloadTrace(512, List.of(cold, cold.arriving(5000)));

    RunReport report =
        TestTraces.report(trace, TestTraces.machines(TestTraces.ENGINE, 1, "off", 0),
            new LabPlan.Conditions(LoopChoice.TRACE, 0, 0.5), "exact");

    assertThat(report.requests()).isOne();
    assertThat(report.cache().rate()).isEqualTo(0.5);
    assertThat(report.cache().ceiling()).as("of the same requests").isEqualTo(0.5);
  }

  /** One long prompt that all begin with: what the first worker has of it is sooner at the others than computed. */
  @Test
  void execute_enginesThatPull_computeWhatTheyBeginWithOnce() {
    List<LabRequest> requests = new ArrayList<>();
    requests.add(prompt(0, 0, 40));
    for (int i = 1; i < 40; i++) {
      requests.add(requests.getFirst().arriving(20_000 + 10 * i));
    }
    WorkloadTrace trace = new WorkloadTrace(512, requests);

    RunReport alone = TestTraces.report(trace, TestTraces.machines(4, false), "least-loaded");
    RunReport peers = TestTraces.report(trace, TestTraces.machines(4, true), "least-loaded");

    assertThat(peers.cache().rate()).isGreaterThan(alone.cache().rate());
    assertThat(peers.latencies().ttft().p99()).isLessThan(0.7 * alone.latencies().ttft().p99());
    assertThat(peers.setup().options()).isEqualTo("pulls");
  }

  private static RunReport report(WorkloadTrace trace, String engine, String stalls, double hostGigabytes) {
    return TestTraces.report(
        trace, TestTraces.machines(engine, 1, stalls, hostGigabytes), LabPlan.Conditions.NONE, "exact");
  }

  @Test
  void execute_aPromptThatFitsNoCache_isRejectedAndIsAMiss() {
    WorkloadTrace trace =
        new WorkloadTrace(
            512,
            List.of(
                LabRequest.at(0, 2_000_000, 5, BlockHashes.of(), ""), LabRequest.at(0, 20, 5, BlockHashes.of(), "")));

    RunReport report = TestTraces.report(trace, 2, "expected-cost", "exact", 1);

    assertThat(report.rejected()).isOne();
    assertThat(report.goodput()).isEqualTo(0.5);
  }

  @ParameterizedTest
  @ValueSource(strings = {"exact", "delayed:300", "lossy:0.2:5", "approximate"})
  void execute_again_comesToTheSame(String index) {
    WorkloadTrace trace = TestTraces.random(300, 5);

    RunReport once = TestTraces.report(trace, 4, "expected-cost", index, 7);

    assertThat(TestTraces.report(trace, 4, "expected-cost", index, 7)).isEqualTo(once);
    assertThat(once.latencies().ttft().p50()).isLessThanOrEqualTo(once.latencies().ttft().p90());
    assertThat(once.cache().rate()).isBetween(0.05, once.cache().ceiling());
  }

  @Test
  void execute_anotherSeed_drawsOtherChance() {
    WorkloadTrace trace = TestTraces.random(300, 5);

    assertThat(TestTraces.report(trace, 4, "random", "exact", 1).latencies().ttft())
        .isNotEqualTo(TestTraces.report(trace, 4, "random", "exact", 2).latencies().ttft());
  }

  /** Agents whose contexts do not fit together: half of them, one after the other, are served better than all. */
  @Test
  void execute_guarded_programsThatDoNotFitWait_andTheOthersFindTheirPrefixes() {
    WorkloadTrace trace = agents(2 * FITTING);

    RunReport free = TestTraces.guarded(trace, 1, "off");
    RunReport guarded = TestTraces.guarded(trace, 1, "alive=5");

    assertThat(free.holds().held()).isZero();
    assertThat(guarded.holds().held()).isGreaterThanOrEqualTo(FITTING / 2);
    assertThat(guarded.holds().longestMs()).isPositive();
    assertThat(guarded.cache().rate()).isGreaterThan(free.cache().rate() + 0.1);
    assertThat(guarded.goodput()).isGreaterThan(free.goodput() + 0.1);
    assertThat(guarded.latencies().session().mean()).isLessThan(free.latencies().session().mean());
    assertThat(guarded.latencies().ttft().mean())
        .as("the wait is part of it")
        .isGreaterThan(guarded.holds().longestMs() / trace.requests().size());
  }

  @Test
  void execute_guardedWithRoom_isTheSameAsWithoutAGuard() {
    WorkloadTrace trace = agents(FITTING / 2);

    RunReport guarded = TestTraces.guarded(trace, 1, "on");

    RunReport free = TestTraces.guarded(trace, 1, "off");
    assertThat(guarded.holds().held()).isZero();
    assertThat(guarded.latencies()).isEqualTo(free.latencies());
    assertThat(guarded.cache()).isEqualTo(free.cache());
  }

  /** With a bound on the wait, the last one is served too, though there is no room for it. */
  @Test
  void execute_guardedBeyondTheLongestWait_everyProgramIsServed() {
    WorkloadTrace trace = agents(3 * FITTING);

    RunReport guarded = TestTraces.guarded(trace, 1, "longest-wait=20,alive=5");

    assertThat(guarded.rejected()).isZero();
    assertThat(guarded.holds().longestMs()).isBetween(20_000.0, 21_500.0);
  }

  /** Programs that fit into one engine's memory: 100,000 tokens each. */
  private static final int FITTING = TestTraces.KV_TOKENS / 100_000;

  /** Programs of ten turns each, with 100,000 tokens at the end, that think for two seconds. */
  private static WorkloadTrace agents(int programs) {
    List<LabRequest> requests = new ArrayList<>();
    for (int program = 0; program < programs; program++) {
      BlockHashes chain = Chains.of(100_000, 512, 0, 0, program);
      for (int turn = 0; turn < 10; turn++) {
        LabRequest request = LabRequest.at(program * 1_000, 54_000 + turn * 5_000, 100, chain, "");
        requests.add(turn == 0 ? request : request.following(requests.size() - 1, 2_000));
      }
    }
    return new WorkloadTrace(512, requests);
  }

  /** One prompt alone: read by one engine, copied, and continued by another. */
  @Test
  void prefillAndDecode_takeAsLongAsReadingAndCopying() {
    LabRequest request = LabRequest.at(0, 8000, 20, BlockHashes.of(), "");
    WorkloadTrace trace = new WorkloadTrace(512, List.of(request));
    RunReport whole = TestTraces.report(trace, "1", "random", "");
    RunReport divided = TestTraces.report(
            trace, "1P+1D", "prefill-decode", "prefill-decode.workflow.remote-prefill = always");
    assertThat(divided.rejected()).isZero();
    double copyMs = LabFleet.LINK.transferMs(8000);
    assertThat(divided.latencies().ttft().mean() - whole.latencies().ttft().mean()).isBetween(copyMs, copyMs + 60);
    assertThat(divided.latencies().tpot().mean()).isCloseTo(whole.latencies().tpot().mean(), within(1.0));
  }

  @Test
  void prefillAndDecode_answerEverything_theSameEachTime() {
    WorkloadTrace trace = TestTraces.random(300, 5);
    RunReport once = TestTraces.report(trace, "2P+2D", "prefill-decode", "");
    assertThat(once.rejected()).isZero();
    assertThat(once.cache().rate()).isGreaterThan(0.1);
    assertThat(TestTraces.report(trace, "2P+2D", "prefill-decode", "")).isEqualTo(once);
    RunReport mixed = TestTraces.report(trace, "1+2P+1D", "prefill-decode", "");
    assertThat(mixed.rejected()).isZero();
  }

  @Test
  void pools_areReadAsWritten() {
    for (String written : List.of("8", "5P+3D", "2+4P+2D")) {
      assertThat(Pools.parse(written)).hasToString(written);
    }
    assertThat(Pools.parse("2+4P+2D").size()).isEqualTo(8);
    assertThatThrownBy(() -> Pools.parse("5P")).hasMessageContaining("5P+3D");
  }

  @Test
  void execute_addsUpToOneInProgress() {
    DoubleAdder progress = new DoubleAdder();

    RunReport report =
        new LabRun(TestTraces.run(TestTraces.random(50, 1), 2, "random", "exact", 1), progress).execute();

    assertThat(report.requests()).isEqualTo(50);
    assertThat(progress.sum()).isCloseTo(1, within(1e-9));
  }

  private static double prefill(int tokens, int context) {
    return decode(0) + TIME.tokenUs() / 1e3 * (tokens - TIME.kneeTokens() > 0 ? tokens - TIME.kneeTokens() : 0)
        + TIME.attentionNs() / 1e6 * tokens * (context + tokens / 2.0);
  }

  private static double decode(int context) {
    return TIME.weightMs() + TIME.overheadMs() + (TIME.sequenceUs() + TIME.sequenceOverheadUs()) / 1e3
        + TIME.decodeContextUs() / 1e6 * context;
  }

  private static double hitRate(WorkloadTrace trace, String coefficients) {
    LabPlan.Run run = TestTraces.run(trace, 4, "expected-cost", "exact", coefficients, 1);
    return new LabRun(run, new DoubleAdder()).execute().cache().rate();
  }
}
