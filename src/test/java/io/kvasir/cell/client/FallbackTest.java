package io.kvasir.cell.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.directory.Roster;
import io.kvasir.cell.ledger.InFlightLoad;
import io.kvasir.index.Chain;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class FallbackTest {
  private static final KvTransfer ROOMS = transfer(KvTransfer.Dialect.SGLANG, "");

  private final AtomicLong nanos = new AtomicLong();
  private final Fallback fallback = new Fallback(nanos::get);

  @Test
  void decide_saysWhyAndThatItIsAFallback() {
    Decision.Planned planned = planned(roster(pod("a")), request(prompt(1)));
    assertThat(planned.reason()).isEqualTo("fallback; the home is away; candidates=1");
    assertThat(planned.last().depth()).isZero();
  }

  @Test
  void decide_promptsThatBeginAlike_meet_onEveryNode() {
    Roster roster = roster(pod("a"), pod("b"), pod("c"), pod("d"));
    Set<String> used = new HashSet<>();
    for (int i = 0; i < 50; i++) {
      long[] beginning = prompt(i).hashes();
      long[] longer = new long[200];
      System.arraycopy(beginning, 0, longer, 0, beginning.length);
      String one = end(planned(roster, request(new Chain(beginning, 16))));
      String two = end(decide(new Fallback(nanos::get), roster, request(new Chain(longer, 16))));
      assertThat(two).isEqualTo(one);
      used.add(one);
    }
    assertThat(used).containsExactlyInAnyOrder("a", "b", "c", "d");
  }

  @Test
  void decide_promptsThatShareTheirFirstBlockOnly_spread() {
    Roster roster = roster(pod("a"), pod("b"), pod("c"), pod("d"));
    Set<String> used = new HashSet<>();
    for (int i = 0; i < 50; i++) {
      used.add(end(planned(roster, request(new Chain(new long[] {7, i * 31L + 1}, 512)))));
    }
    assertThat(used).hasSize(4);
  }

  @Test
  void decide_aSession_meets_whateverItsPrompts() {
    Roster roster = roster(pod("a"), pod("b"), pod("c"), pod("d"));
    Set<String> used = new HashSet<>();
    for (int i = 0; i < 20; i++) {
      used.add(end(planned(roster, request(prompt(i), "one session", Set.of()))));
    }
    assertThat(used).hasSize(1);
  }

  @Test
  void decide_aSessionWhoseWorkerIsRemembered_goesThere_whileThatIsThereAndHasLessThanItsShare() {
    Roster roster = roster(pod("a"), pod("b"), pod("c"), pod("d"));
    for (int i = 0; i < 20; i++) {
      assertThat(end(planned(roster, ofSession("session " + i, "elsewhere,b")))).isEqualTo("b");
    }
    assertThat(planned(roster, ofSession("s", "b")).last().worker().id()).isEqualTo("b");
    assertThat(planned(roster, ofSession("s", "b")).last().worker().id()).as("it has its share").isNotEqualTo("b");
    assertThat(planned(roster, ofSession("s", "gone"))).isNotNull();
  }

  private static DecisionRequest ofSession(String session, String workers) {
    DecisionRequest request = request(prompt(1), session, Set.of());
    return request.withPrepared(request.prepared().with(Slots.SESSION_WORKERS, workers));
  }

  @Test
  void decide_workerLeaves_othersKeepTheirPrompts() {
    Roster four = roster(pod("a"), pod("b"), pod("c"), pod("d"));
    Roster three = roster(pod("a"), pod("b"), pod("c"));
    for (int i = 0; i < 50; i++) {
      String before = end(planned(four, request(prompt(i))));
      String after = end(planned(three, request(prompt(i))));
      if (!before.equals("d")) {
        assertThat(after).isEqualTo(before);
      }
    }
  }

  @Test
  void decide_manyAlikeAtOnce_noWorkerGetsMoreThanItsShare() {
    Roster roster = roster(pod("a"), pod("b"), pod("c"), pod("d"));
    Map<String, Integer> inFlight = new HashMap<>();
    for (int i = 1; i <= 100; i++) {
      inFlight.merge(planned(roster, request(prompt(1))).last().worker().id(), 1, Integer::sum);
      int bound = (int) Math.ceil(1.25 * i / 4);
      assertThat(inFlight.values()).allMatch(count -> count <= bound);
    }
    assertThat(inFlight).hasSize(4);
  }

  @Test
  void decide_allFull_saysSo_andWhatIsClosedIsFreeAgain() {
    Roster roster = roster(pod("a", 2), pod("b", 2));
    List<Decision.Planned> taken = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      taken.add(planned(roster, request(prompt(i))));
    }
    assertThat(refused(roster, request(prompt(9)))).isEqualTo(Decision.NoWorkerReason.ALL_FULL);
    taken.getFirst().close(new Outcome.Completed(1, 0, 1, 1));
    taken.getFirst().close(new Outcome.Cancelled());
    assertThat(planned(roster, request(prompt(9))).last().worker()).isEqualTo(taken.getFirst().last().worker());
    assertThat(refused(roster, request(prompt(9)))).isEqualTo(Decision.NoWorkerReason.ALL_FULL);
  }

  @Test
  void decide_rosterChanges_whatIsInFlightStaysBooked() {
    planned(roster(pod("a", 1)), request(prompt(1)));
    Roster two = roster(pod("a", 1), pod("b", 1));
    assertThat(planned(two, request(prompt(1))).last().worker().id()).isEqualTo("b");
  }

  @Test
  void decide_neverADrainingOrAnExcludedWorker() {
    Roster roster =
        new Roster(
            Map.of(
                "a", new PodEntry(pod("a"), true, PodSource.ADMIN, false, null),
                "b", new PodEntry(pod("b"), PodSource.ADMIN),
                "c", new PodEntry(pod("c"), PodSource.ADMIN)));
    for (int i = 0; i < 20; i++) {
      assertThat(end(planned(roster, request(prompt(i), "", Set.of("b"))))).isEqualTo("c");
    }
    assertThat(refused(roster, request(prompt(1), "", Set.of("b", "c"))))
        .isEqualTo(Decision.NoWorkerReason.NONE_HEALTHY);
  }

  @Test
  void decide_aWorkerThatCouldNotBeReached_isLeftAloneForAWhile_unlessThereIsNoOther() {
    Roster roster = roster(pod("a"), pod("b"));
    Decision.Planned first = planned(roster, request(prompt(1)));
    String lost = first.last().worker().id();
    first.close(new Outcome.Failed(true, "refused"));
    String other = end(planned(roster, request(prompt(1))));
    assertThat(other).isNotEqualTo(lost);
    assertThat(end(planned(roster, request(prompt(1), "", Set.of(other))))).isEqualTo(lost);
    nanos.addAndGet(Duration.ofSeconds(3).toNanos());
    assertThat(end(planned(roster, request(prompt(1))))).isEqualTo(lost);
  }

  @Test
  void decide_prefillAndDecodeApart_theDecodeWorkerReadsThePrompt() {
    KvTransfer nixl = transfer(KvTransfer.Dialect.VLLM_NIXL, "");
    Roster roster = roster(pod("p", Role.PREFILL, 4, nixl), pod("d", Role.DECODE, 4, nixl));
    assertThat(planned(roster, request(prompt(1))).steps())
        .extracting(step -> step.worker().id()).containsExactly("d");
  }

  @Test
  void decide_enginesThatOnlyWorkInPairs_getAPairOfOneGroup() {
    KvTransfer west = transfer(KvTransfer.Dialect.SGLANG, "west");
    Roster roster =
        roster(pod("p", Role.PREFILL, 4, ROOMS), pod("w", Role.PREFILL, 4, west), pod("d", Role.DECODE, 4, ROOMS));
    Decision.Planned planned = planned(roster, request(prompt(1)));
    assertThat(planned.order()).isEqualTo(RoutingPlan.StepOrder.CONCURRENT);
    assertThat(planned.steps()).extracting(step -> step.step().name() + step.worker().id())
        .containsExactly("prefillp", "decoded");
  }

  @ParameterizedTest
  @CsvSource({"prefill, decode, d, p", "decode, prefill, p, d"})
  void decide_stepOfAPair_getsAWorkerOfTheOthersGroup(String step, String other, String kept, String expected) {
    KvTransfer west = transfer(KvTransfer.Dialect.SGLANG, "west");
    Roster roster = roster(
        pod("p", Role.PREFILL, 4, ROOMS), pod("pw", Role.PREFILL, 4, west), pod("d", Role.DECODE, 4, ROOMS),
        pod("dw", Role.DECODE, 4, west));
    DecisionRequest.StepReplacement pair = new DecisionRequest.StepReplacement(step, Map.of(other, kept));
    for (int i = 0; i < 20; i++) {
      Decision.Planned planned = planned(roster, request(prompt(i)).replacing(pair, Set.of()));
      assertThat(end(planned)).isEqualTo(expected);
    }
  }

  @Test
  void decide_noPartnerLeft_booksNothing() {
    Roster roster = roster(pod("p", Role.PREFILL, 1, ROOMS), pod("d", Role.DECODE, 1, ROOMS));
    DecisionRequest withoutPartner = request(prompt(1), "", Set.of("p"));
    for (int i = 0; i < 3; i++) {
      assertThat(refused(roster, withoutPartner)).isEqualTo(Decision.NoWorkerReason.NONE_HEALTHY);
    }
    assertThat(planned(roster, request(prompt(1))).steps()).hasSize(2);
  }

  private Decision.Planned planned(Roster roster, DecisionRequest request) {
    return decide(fallback, roster, request);
  }

  private Decision.NoWorkerReason refused(Roster roster, DecisionRequest request) {
    return ((Decision.NoWorker) fallback.decide(roster, "m", request, "the home is away", FallbackTest::open)).reason();
  }

  private static Decision.Planned decide(Fallback by, Roster roster, DecisionRequest request) {
    return (Decision.Planned) by.decide(roster, "m", request, "the home is away", FallbackTest::open);
  }

  private static Reservation open(
      Worker worker, DecisionRequest request, boolean readsPrompt, RemoteReservation.Watcher watcher) {
    InFlightLoad load = new InFlightLoad(1, worker.id(), "m", 1000, 1000, readsPrompt, false);
    HomeNotifier nobody = TestHomeNotifier.by("n", _ -> {});
    return new RemoteReservation(load, RemoteReservation.NONE, new InFlightLoads(nobody), nobody, watcher);
  }

  /** The worker chosen, after the request is over. */
  private static String end(Decision.Planned planned) {
    planned.close(new Outcome.Completed(1, 0, 1, 1));
    return planned.last().worker().id();
  }

  private static Chain prompt(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    return new Chain(random.longs(80).toArray(), 16);
  }

  private static DecisionRequest request(Chain chain) {
    return request(chain, "", Set.of());
  }

  private static DecisionRequest request(Chain chain, String session, Set<String> excluded) {
    PreparedSlots prepared = new PreparedSlots(Map.of("session-key", session), null, null);
    return new DecisionRequest(
        "r", "m", null, RequestShape.TEXT, new DecisionRequest.Prompt(chain, 1000),
        prepared, false, DecisionRequest.Constraints.excluding(excluded));
  }

  private static Roster roster(PodSpec... pods) {
    Map<String, PodEntry> entries = new HashMap<>();
    for (PodSpec pod : pods) {
      entries.put(pod.name(), new PodEntry(pod, PodSource.CONFIG));
    }
    return new Roster(entries);
  }

  private static PodSpec pod(String name) {
    return pod(name, 1000);
  }

  private static PodSpec pod(String name, int maxInFlight) {
    return pod(name, Role.BOTH, maxInFlight, null);
  }

  private static PodSpec pod(String name, Role role, int maxInFlight, @Nullable KvTransfer transfer) {
    return TestPods.pod(name).role(role).maxInFlight(maxInFlight).kvTransfer(transfer).build();
  }

  private static KvTransfer transfer(KvTransfer.Dialect dialect, String group) {
    return new KvTransfer(dialect, group, "h", 8998, "", 1, 1, new KvTransfer.TransferCost(3, 0.5));
  }
}
