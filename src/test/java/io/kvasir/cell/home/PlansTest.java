package io.kvasir.cell.home;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestPrompts;
import io.kvasir.cell.TestSettings;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.WorkerLoad;
import io.kvasir.events.EventFeed;
import io.kvasir.index.Chain;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.KvTransfer.Dialect;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.Role;
import io.kvasir.time.ManualClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Plans of two workers against a cell's ledger: what they book and predict, and that all of it is given back. */
final class PlansTest {
  private static final int BLOCK = 16;
  private static final int BLOCKS = 500;
  private static final int PROMPT = BLOCKS * BLOCK + 3;
  private final ManualClock clock = new ManualClock();
  private final CellServices services = TestServices.deciding("prefill-decode").clock(clock).build();
  private final Members members = new Members("m", services);

  private Member seat(String name, Role role, Dialect dialect, String group, int maxInFlight) {
    PodSpec pod =
        TestPods.pod(name)
            .role(role)
            .blockSize(BLOCK)
            .maxInFlight(maxInFlight)
            .capacityBlocks(10_000)
            .events(List.of(new EventFeed.Push("")))
            .kvTransfer(new KvTransfer(dialect, group, name, 8998, "", 1, 1, new KvTransfer.TransferCost(6, 5)))
            .build();
    return TestCell.admit(members, pod).getFirst();
  }

  private static Chain chain(int seed) {
    return TestPrompts.chain(seed, BLOCKS, BLOCK);
  }

  private Decision decide(int seed, Set<String> excluded, DecisionRequest.@Nullable StepReplacement again) {
    DecisionRequest request =
        new DecisionRequest(
            "r", "m", null, RequestShape.TEXT, new DecisionRequest.Prompt(chain(seed), PROMPT),
            PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE);
    return members.view().decide(again == null ? request.without(excluded) : request.replacing(again, excluded));
  }

  private Decision.Planned plan(int seed) {
    Decision decision = decide(seed, Set.of(), null);
    assertThat(decision).isInstanceOf(Decision.Planned.class);
    return (Decision.Planned) decision;
  }

  private Decision.Planned alone(int seed) {
    Decision decision =
        members.view().decide(
            new DecisionRequest(
                "r", "m", null, RequestShape.TEXT, new DecisionRequest.Prompt(chain(seed), PROMPT),
                PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE)
                .onSingleWorker());
    return (Decision.Planned) decision;
  }

  /** Others generate there already, so that reading a prompt there would hold them up. */
  private void generateOnDecode() {
    for (int i = 0; i < 20; i++) {
      decide(100 + i, Set.of("p"), null);
    }
  }

  private static Outcome completed() {
    return new Outcome.Completed(PROMPT, 0, 5, 1);
  }

  private void assertNothingBooked() {
    for (Member member : members.all()) {
      WorkerLoad load = member.load();
      assertThat(List.of((long) load.inFlight(), load.pendingTokens(), load.contextTokens()))
          .as(member.worker().id())
          .containsOnly(0L);
      assertThat(load.queueMs()).isZero();
    }
  }

  @Test
  void handedOver_isPredictedAtOnceWhereItIsRead_andWithItsFirstTokenWhereItIsTaken() {
    Member prefill = seat("p", Role.PREFILL, Dialect.SGLANG, "", 100);
    Member decode = seat("d", Role.DECODE, Dialect.SGLANG, "", 100);
    Decision.Planned planned = plan(1);
    assertThat(planned.steps()).extracting(Decision.Chosen::worker).extracting(w -> w.id()).containsExactly("p", "d");
    assertThat(prefill.cache().blocks().predicted()).isEqualTo(BLOCKS);
    assertThat(decode.cache().blocks().predicted()).isZero();
    assertThat(prefill.load().pendingTokens()).isEqualTo(PROMPT);
    assertThat(decode.load().pendingTokens()).isEqualTo(1);

    planned.steps().get(0).reservation().close(completed());
    assertThat(prefill.load().pendingTokens()).isZero();
    assertThat(prefill.load().inFlight()).isZero();
    assertThat(decode.load().contextTokens()).isEqualTo(PROMPT);

    planned.last().reservation().firstToken();
    assertThat(decode.cache().blocks().predicted()).isEqualTo(BLOCKS);
    planned.last().reservation().close(new Outcome.Cancelled());
    assertNothingBooked();
  }

  @Test
  void prefillWorkerWhosePromptsAreNotReceived_getsNoMore_untilATrialIsReceived() {
    Member prefill = seat("p", Role.PREFILL, Dialect.VLLM_NIXL, "", 100);
    seat("d", Role.DECODE, Dialect.VLLM_NIXL, "", 100);
    generateOnDecode();
    for (int i = 0; i < TestSettings.CELL.health().breakerFailures(); i++) {
      Decision.Planned divided = plan(200 + i);
      assertThat(divided.steps()).hasSize(2);
      divided.steps().getFirst().reservation().close(completed());
      divided.last().reservation().close(new Outcome.Failed(false, "status 500"));
      Decision.Planned alone = alone(200 + i);
      alone.last().reservation().firstToken();
      alone.close(completed());
    }

    Decision.Planned without = plan(300);
    assertThat(without.steps()).hasSize(1);
    assertThat(without.reason()).endsWith("; not-handing-over=1");
    without.close(completed());

    clock.advance(TestSettings.CELL.health().breakerOpen());
    for (int i = 0; i < TestSettings.CELL.health().breakerSuccesses(); i++) {
      Decision.Planned trial = plan(400 + i);
      assertThat(trial.steps()).hasSize(2);
      Decision.Planned beside = plan(500 + i);
      assertThat(beside.steps()).as("one trial at a time").hasSize(1);
      beside.close(completed());
      trial.steps().getFirst().reservation().close(completed());
      trial.last().reservation().firstToken();
      trial.last().reservation().close(completed());
    }
    assertThat(prefill.health().handOvers().isClosed()).isTrue();
  }

  /** A prefill worker of SGLang may wait for a decode worker that is busy. */
  @ParameterizedTest
  @EnumSource(value = Dialect.class, names = {"VLLM_NIXL", "VLLM_PUSH", "TENSORRT_LLM", "SGLANG"})
  void prefillWorkerThatHangs_getsNoMorePrompts(Dialect dialect) {
    Member prefill = seat("p", Role.PREFILL, dialect, "", 100);
    seat("d", Role.DECODE, dialect, "", 100);
    generateOnDecode();
    Decision.Planned planned = plan(1);
    assertThat(planned.steps()).hasSize(2);
    long later = Duration.ofMinutes(10).toNanos();
    prefill.health().stallDetector().check(1_000_000_000L, 0, 0);
    prefill.health().stallDetector().check(later, prefill.load().inFlight(), prefill.load().queueMs());

    Decision next = decide(2, Set.of(), null);
    assertThat(((Decision.Planned) next).steps()).hasSize(dialect == Dialect.SGLANG ? 2 : 1);

    planned.close(completed());
    ((Decision.Planned) next).close(completed());
    prefill.health().stallDetector().check(later, 0, 0);
    prefill.health().stallDetector().check(2 * later, 0, 0);
    assertThat(plan(3).steps()).hasSize(2);
  }

  @Test
  void burst_ofOnePrompt_meetsWhereItIsRead_thoughNobodyHasItYet() {
    seat("p0", Role.PREFILL, Dialect.SGLANG, "", 100);
    seat("p1", Role.PREFILL, Dialect.SGLANG, "", 100);
    seat("d0", Role.DECODE, Dialect.SGLANG, "", 100);
    Set<String> readers = new HashSet<>();
    int cached = 0;
    for (int i = 0; i < 10; i++) {
      Decision.Planned planned = plan(1);
      readers.add(planned.steps().getFirst().worker().id());
      cached += planned.steps().getFirst().cached().predicted();
      assertThat(planned.last().step().readsPrompt()).isFalse();
    }
    assertThat(readers).hasSize(1);
    assertThat(cached).isEqualTo(9 * BLOCKS * BLOCK);
  }

  @Test
  void readsPrompt_countsItWhereItIsReadAfterAll() {
    Member prefill = seat("p", Role.PREFILL, Dialect.VLLM_NIXL, "", 100);
    Member decode = seat("d", Role.DECODE, Dialect.VLLM_NIXL, "", 100);
    generateOnDecode();
    long before = decode.load().pendingTokens();
    Decision.Planned planned = plan(1);
    assertThat(planned.steps()).hasSize(2);
    planned.steps().getFirst().reservation().close(new Outcome.Failed(true, "gone"));
    assertThat(prefill.cache().blocks().predicted()).isZero();

    Reservation taken = planned.last().reservation();
    taken.prefillLocally();
    taken.prefillLocally();
    assertThat(decode.load().pendingTokens() - before).isEqualTo(PROMPT);
    assertThat(decode.cache().blocks().predicted()).isGreaterThanOrEqualTo(BLOCKS);
    taken.firstToken();
    taken.prefillLocally();
    assertThat(decode.load().pendingTokens()).isEqualTo(before);
    taken.close(completed());
  }

  @Test
  void shortAnswersOfPrefillLegs_areNoAnswers() {
    seat("p", Role.PREFILL, Dialect.SGLANG, "", 100);
    seat("d", Role.DECODE, Dialect.SGLANG, "", 100);
    for (int i = 0; i < 50; i++) {
      Decision.Planned planned = plan(i);
      planned.steps().getFirst().reservation().close(new Outcome.Completed(PROMPT, 0, 1, 1));
      planned.last().reservation().close(new Outcome.Completed(PROMPT, PROMPT - 1, 400, 1));
    }
    assertThat(services.profiles().outputs().expected("m")).isGreaterThan(300);
  }

  @Test
  void again_prefill_keepsTheDecodeWorker() {
    seat("p0", Role.PREFILL, Dialect.SGLANG, "", 100);
    seat("p1", Role.PREFILL, Dialect.SGLANG, "", 100);
    seat("d", Role.DECODE, Dialect.SGLANG, "", 100);
    Decision.Planned planned = plan(1);
    String failed = planned.steps().getFirst().worker().id();
    Decision again = decide(1, Set.of(failed), new DecisionRequest.StepReplacement("prefill", Map.of("decode", "d")));
    assertThat(again)
        .isInstanceOfSatisfying(
            Decision.Planned.class,
            one -> {
              assertThat(one.steps()).singleElement().satisfies(
                  step -> assertThat(step.worker().id()).isNotEqualTo(failed).startsWith("p"));
              one.close(new Outcome.Cancelled());
            });
    planned.close(new Outcome.Cancelled());
    assertNothingBooked();
  }

  /** Few places, many decisions at once, and every way a request can end: not a token stays booked. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void manyAtOnceOverFullWorkers_leaveNothingBooked(long seed) throws Exception {
    Dialect[] dialects = {Dialect.VLLM_NIXL, Dialect.SGLANG, Dialect.TENSORRT_LLM};
    for (int i = 0; i < 9; i++) {
      Role role = i % 3 == 0 ? Role.PREFILL : Role.DECODE;
      seat("w" + i, role, dialects[i / 3], "", 2 + i % 3);
    }
    seat("both", Role.BOTH, Dialect.VLLM_NIXL, "", 3);
    int[] ends = new int[3];
    try (ExecutorService threads = Executors.newFixedThreadPool(8)) {
      List<Future<int[]>> all = new ArrayList<>();
      for (int t = 0; t < 8; t++) {
        SplittableRandom random = new SplittableRandom(seed * 100 + t);
        all.add(threads.submit(() -> requests(random)));
      }
      for (Future<int[]> one : all) {
        int[] counts = one.get();
        for (int i = 0; i < ends.length; i++) {
          ends[i] += counts[i];
        }
      }
    }
    assertThat(ends).as("refused, whole and divided").doesNotContain(0);
    assertNothingBooked();
  }

  private int[] requests(SplittableRandom random) {
    int[] ends = new int[3];
    List<Decision.Planned> open = new ArrayList<>();
    for (int i = 0; i < 2_000; i++) {
      switch (decide(random.nextInt(40), Set.of(), null)) {
        case Decision.NoWorker none -> {
          assertThat(none.reason()).isEqualTo(Decision.NoWorkerReason.ALL_FULL);
          ends[0]++;
        }
        case Decision.Planned planned -> {
          ends[planned.steps().size()]++;
          open.add(planned);
        }
      }
      while (open.size() > random.nextInt(5)) {
        end(open.remove(random.nextInt(open.size())), random);
      }
    }
    open.forEach(planned -> end(planned, random));
    return ends;
  }

  private void end(Decision.Planned planned, SplittableRandom random) {
    Outcome[] outcomes = {completed(), new Outcome.Cancelled(), new Outcome.Refused(503)};
    if (planned.steps().size() == 2 && random.nextInt(3) == 0) {
      Decision.Chosen failed = planned.steps().getFirst();
      failed.reservation().close(new Outcome.Refused(503));
      Decision again =
          decide(
              random.nextInt(40),
              Set.of(failed.worker().id()),
              new DecisionRequest.StepReplacement("prefill", Map.of("decode", planned.last().worker().id())));
      if (again instanceof Decision.Planned other) {
        other.close(outcomes[random.nextInt(3)]);
      } else {
        planned.last().reservation().prefillLocally();
      }
    }
    if (random.nextBoolean()) {
      planned.last().reservation().firstToken();
    }
    planned.close(outcomes[random.nextInt(3)]);
    planned.close(outcomes[random.nextInt(3)]);
  }
}
