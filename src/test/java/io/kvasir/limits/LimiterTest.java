package io.kvasir.limits;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.access.Caller;
import io.kvasir.access.Grants;
import io.kvasir.access.Limits;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Limits over several nodes, by what they admit: in simulated time, so that every figure is exact. */
final class LimiterTest {
  private static final Duration STEP = Duration.ofMillis(10);
  private static final int STEPS_A_SECOND = 100;

  /** Shares of the load by node, in percent. */
  private static int nodeOf(String shares, SplittableRandom random) {
    int at = random.nextInt(100);
    int node = 0;
    int below = 0;
    for (String share : shares.split("/", -1)) {
      below += Integer.parseInt(share);
      if (at < below) {
        return node;
      }
      node++;
    }
    throw new IllegalArgumentException(shares);
  }

  private static Limits rpm(long requests) {
    return new Limits(requests, 0, 0, List.of());
  }

  private static Limits tpm(long tokens) {
    return new Limits(0, tokens, 0, List.of());
  }

  private static Limits concurrent(int requests) {
    return new Limits(0, 0, requests, List.of());
  }

  private static Limits budget(long tokens) {
    return new Limits(0, 0, 0, List.of(new Limits.Budget(tokens, Duration.ofHours(1))));
  }

  private static @Nullable LimitReservation admit(SimulatedNodes nodes, int node, Caller caller)
      throws InterruptedException {
    return nodes.limiter(node).admit(caller) instanceof Admission.Admitted(LimitReservation reservation)
        ? reservation
        : null;
  }

  private static Refusal refuse(SimulatedNodes nodes, int node, Caller caller) throws InterruptedException {
    assertThat(nodes.limiter(node).admit(caller)).isInstanceOf(Admission.Refused.class);
    return ((Admission.Refused) nodes.limiter(node).admit(caller)).refusal();
  }

  /** Half as much again as the limit, for two minutes: what is admitted is the bucket and its refill. */
  @ParameterizedTest
  @CsvSource({
    "34/33/33, 6000, 0", "100/0/0, 6000, 0", "70/25/5, 6000, 0", "34/33/33, 90, 0", "34/33/33, 6000, 5"
  })
  void requestsAboveTheLimit_areAdmittedUpToIt(String shares, long perMinute, int lostPercent) throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(3);
    SplittableRandom random = new SplittableRandom(1);
    nodes.lose(() -> random.nextInt(100) < lostPercent);
    long start = nodes.millis();
    Caller caller = SimulatedNodes.caller(rpm(perMinute));
    double due = 0;
    long admitted = 0;
    int seconds = 120;
    for (int step = 0; step < seconds * STEPS_A_SECOND; step++) {
      nodes.advance(STEP);
      // The bucket is emptied at once, so that the rest of the time is at the limit.
      due += step == 0 ? perMinute : 1.5 * perMinute / 60 / STEPS_A_SECOND;
      for (; due >= 1; due--) {
        LimitReservation reservation = admit(nodes, nodeOf(shares, random), caller);
        if (reservation != null) {
          admitted++;
          reservation.release();
        }
      }
    }
    long allowed = perMinute + perMinute * (nodes.millis() - start) / 60_000;
    assertThat(admitted).isBetween(allowed * 95 / 100, allowed * 102 / 100);
  }

  @ParameterizedTest
  @CsvSource({"34/33/33, 600000", "100/0/0, 600000", "70/25/5, 600000", "34/33/33, 30000"})
  void workAboveTheLimit_isDoneUpToIt(String shares, long perMinute) throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(3);
    SplittableRandom random = new SplittableRandom(2);
    Caller caller = SimulatedNodes.caller(tpm(perMinute));
    Deque<Runnable> running = new ArrayDeque<>();
    long[] done = {0};
    double due = 0;
    int seconds = 120;
    for (int step = 0; step < seconds * STEPS_A_SECOND; step++) {
      nodes.advance(STEP);
      due += step == 0 ? perMinute : 1.5 * perMinute / 60 / STEPS_A_SECOND;
      while (due > 0) {
        long prompt = random.nextLong(50, 2000);
        Work work = new Work(prompt / 2, prompt - prompt / 2, random.nextLong(1, 300));
        due -= SimulatedNodes.SETTINGS.cost().of(work);
        LimitReservation reservation = admit(nodes, nodeOf(shares, random), caller);
        if (reservation == null) {
          continue;
        }
        if (reservation.reserve(new Demand(prompt, 300)) == null) {
          running.add(() -> {
            reservation.settle(work);
            done[0] += SimulatedNodes.SETTINGS.cost().of(work);
          });
        } else {
          reservation.cancel();
        }
      }
      while (running.size() > 3) {
        running.removeFirst().run();
      }
    }
    running.forEach(Runnable::run);
    long allowed = perMinute + perMinute * seconds / 60;
    assertThat(done[0]).isBetween(allowed * 95 / 100, allowed * 102 / 100);
  }

  @ParameterizedTest
  @CsvSource({"34/33/33, 90", "100/0/0, 90", "70/25/5, 90", "34/33/33, 4"})
  void slots_areNeverMoreThanTheLimit_andAllAreUsed(String shares, int most) throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(3);
    SplittableRandom random = new SplittableRandom(3);
    Caller caller = SimulatedNodes.caller(concurrent(most));
    Deque<LimitReservation> running = new ArrayDeque<>();
    long occupied = 0;
    int steps = 5 * STEPS_A_SECOND;
    for (int step = 0; step < steps; step++) {
      nodes.advance(STEP);
      for (int i = 0; i <= most / 10 && !running.isEmpty(); i++) {
        running.removeFirst().release();
      }
      for (int i = 0; i <= most / 5 + 2; i++) {
        LimitReservation reservation = admit(nodes, nodeOf(shares, random), caller);
        if (reservation != null) {
          running.add(reservation);
        }
      }
      assertThat(running.size()).isLessThanOrEqualTo(most);
      occupied += running.size();
    }
    assertThat(occupied).isGreaterThan((long) most * steps * 95 / 100);
  }

  @Test
  void keyAndTenant_bothHaveToAllow_andWhatWasTakenOfOneComesBackWhenTheOtherRefuses() throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(1);
    Caller one = new Caller("one", "t", Grants.ALL, rpm(5), rpm(3));
    Caller other = new Caller("other", "t", Grants.ALL, rpm(5), rpm(3));
    for (int i = 0; i < 3; i++) {
      Objects.requireNonNull(admit(nodes, 0, one)).release();
    }
    assertThat(refuse(nodes, 0, one).limit()).isEqualTo("tenant:t");
    assertThat(refuse(nodes, 0, other).limit()).isEqualTo("tenant:t");
    assertThat(Objects.requireNonNull(nodes.limiter(0).status(new Caller("one", "t", Grants.ALL, rpm(5), Limits.NONE),
        Dimension.REQUESTS)).remaining()).isEqualTo(2);
  }

  @Test
  void refusal_saysWhoseLimitItIs_howMuchIsUsed_andWhenToComeBack() throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(2);
    Caller caller = SimulatedNodes.caller(rpm(60));
    for (int i = 0; i < 60; i++) {
      Objects.requireNonNull(admit(nodes, i % 2, caller)).release();
    }
    Refusal refusal = refuse(nodes, 1, caller);
    assertThat(refusal.limit()).isEqualTo("key:k");
    assertThat(refusal.quota().dimension()).isEqualTo(Dimension.REQUESTS);
    assertThat(refusal.used()).isEqualTo(60);
    assertThat(refusal.resetsIn()).isEqualTo(Duration.ofSeconds(1));
    assertThat(refusal.isTerminal()).isFalse();
    nodes.advance(Duration.ofSeconds(1));
    assertThat(admit(nodes, 0, caller)).isNotNull();
    assertThat(admit(nodes, 1, caller)).isNull();
  }

  /** A request that turns out larger than it was reserved for is a debt, which the others wait for. */
  @Test
  void debt_isPaidBeforeAnythingElseIsAdmitted() throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(2);
    Caller caller = SimulatedNodes.caller(tpm(6000));
    LimitReservation large = Objects.requireNonNull(admit(nodes, 0, caller));
    assertThat(large.reserve(new Demand(100, 10))).isNull();
    large.settle(new Work(12_000, 0, 0));
    assertThat(scrape(nodes)).contains("kvasir_limit_debt{dimension=\"tokens\"} 6000.0");
    nodes.advance(STEP);
    LimitReservation next = Objects.requireNonNull(admit(nodes, 1, caller));
    Refusal refusal = Objects.requireNonNull(next.reserve(new Demand(100, 0)));
    // 6,000 are owed and 100 needed, at 100 a second.
    assertThat(refusal.resetsIn()).isBetween(Duration.ofSeconds(60), Duration.ofSeconds(63));
    next.cancel();
    nodes.advance(Duration.ofSeconds(64));
    assertThat(Objects.requireNonNull(admit(nodes, 1, caller)).reserve(new Demand(100, 0))).isNull();
  }

  @Test
  void reservation_endsOnce_howeverOftenItIsEnded() throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(1);
    Caller caller = SimulatedNodes.caller(new Limits(10, 1000, 2, List.of()));
    LimitReservation reservation = Objects.requireNonNull(admit(nodes, 0, caller));
    assertThat(reservation.reserve(new Demand(100, 100))).isNull();
    reservation.settle(new Work(100, 0, 50));
    reservation.settle(new Work(100, 0, 50));
    reservation.cancel();
    reservation.release();
    assertThat(remaining(nodes, caller, Dimension.REQUESTS)).isEqualTo(9);
    assertThat(remaining(nodes, caller, Dimension.TOKENS)).isEqualTo(750);
    assertThat(remaining(nodes, caller, Dimension.CONCURRENT)).isEqualTo(2);
  }

  @Test
  void reservationThatIsCancelled_leavesNothing_andOneThatIsReleasedTheRequest() throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(1);
    Caller caller = SimulatedNodes.caller(new Limits(10, 1000, 2, List.of()));
    LimitReservation cancelled = Objects.requireNonNull(admit(nodes, 0, caller));
    assertThat(cancelled.reserve(new Demand(100, 100))).isNull();
    cancelled.cancel();
    assertThat(remaining(nodes, caller, Dimension.REQUESTS)).isEqualTo(10);
    LimitReservation released = Objects.requireNonNull(admit(nodes, 0, caller));
    assertThat(released.reserve(new Demand(100, 100))).isNull();
    released.release();
    assertThat(remaining(nodes, caller, Dimension.REQUESTS)).isEqualTo(9);
    assertThat(remaining(nodes, caller, Dimension.TOKENS)).isEqualTo(1000);
    assertThat(remaining(nodes, caller, Dimension.CONCURRENT)).isEqualTo(2);
  }

  private static long remaining(SimulatedNodes nodes, Caller caller, Dimension dimension) {
    return Objects.requireNonNull(nodes.limiter(0).status(caller, dimension)).remaining();
  }

  /** Cached tokens cost a tenth: what requests of a caller are reserved for follows what they turned out to be. */
  @Test
  void estimate_learnsWhatTheCachesHold() throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(1);
    Caller caller = SimulatedNodes.caller(tpm(1_000_000));
    for (int i = 0; i < 100; i++) {
      LimitReservation reservation = Objects.requireNonNull(admit(nodes, 0, caller));
      assertThat(reservation.reserve(new Demand(1000, 0))).isNull();
      reservation.settle(new Work(100, 900, 0));
    }
    long before = remaining(nodes, caller, Dimension.TOKENS);
    assertThat(Objects.requireNonNull(admit(nodes, 0, caller)).reserve(new Demand(1000, 0))).isNull();
    assertThat(before - remaining(nodes, caller, Dimension.TOKENS)).isEqualTo(190);
  }

  @Test
  void budget_isNotForgottenWhenItsOwnerMoves_andIsWholeWithTheNextWindow() throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(3);
    Caller caller = SimulatedNodes.caller(budget(100_000));
    long used = 0;
    for (int i = 0; i < 3000; i++) {
      if (i % 50 == 0) {
        nodes.moveOwners();
      }
      nodes.advance(STEP);
      LimitReservation reservation = Objects.requireNonNull(admit(nodes, i % 3, caller));
      Refusal refusal = reservation.reserve(new Demand(100, 0));
      if (refusal == null) {
        reservation.settle(new Work(100, 0, 0));
        used += 100;
      } else {
        assertThat(refusal.isTerminal()).isTrue();
        reservation.cancel();
      }
    }
    assertThat(used).isBetween(99_000L, 101_000L);
    nodes.advance(Duration.ofHours(1));
    assertThat(Objects.requireNonNull(admit(nodes, 0, caller)).reserve(new Demand(100, 0))).isNull();
  }

  /** Those that stopped when it was used up send nothing that would remind the next owner of it. */
  @Test
  void budgetThatIsUsedUp_isNotForgotten_whenItsOwnerIsLostWhileNobodyUsesIt() throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(2);
    Caller caller = SimulatedNodes.caller(budget(100_000));
    use(nodes, 0, caller, 98_000);
    rest(nodes, 20);
    nodes.moveOwners();
    rest(nodes, 40);
    assertThat(Objects.requireNonNull(admit(nodes, 1, caller)).reserve(new Demand(10_000, 0))).isNotNull();
    rest(nodes, 3600);
    assertThat(Objects.requireNonNull(admit(nodes, 1, caller)).reserve(new Demand(10_000, 0))).isNull();
  }

  @Test
  void budgetThatIsUsedUp_isNotForgotten_whenTheNodeThatUsedItIsLostWithTheOwner() throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(2);
    Caller caller = SimulatedNodes.caller(budget(100_000));
    use(nodes, 1, caller, 1000);
    rest(nodes, 20);
    use(nodes, 0, caller, 97_000);
    rest(nodes, 40);
    nodes.cut(0, true);
    nodes.moveOwners();
    assertThat(Objects.requireNonNull(admit(nodes, 1, caller)).reserve(new Demand(10_000, 0))).isNotNull();
  }

  private static void rest(SimulatedNodes nodes, int seconds) {
    for (int second = 0; second < seconds; second++) {
      nodes.advance(Duration.ofSeconds(1));
    }
  }

  @Test
  void rate_isNotForgottenWhenItsOwnerMoves() throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(3);
    Caller caller = SimulatedNodes.caller(rpm(6000));
    long admitted = 0;
    for (int step = 0; step < 30 * STEPS_A_SECOND; step++) {
      nodes.advance(STEP);
      if (step % 500 == 100) {
        nodes.moveOwners();
      }
      for (int i = 0; i < (step == 0 ? 6000 : 3); i++) {
        LimitReservation reservation = admit(nodes, i % 3, caller);
        if (reservation != null) {
          admitted++;
          reservation.release();
        }
      }
    }
    assertThat(admitted).isBetween(9000L * 95 / 100, 9000L * 102 / 100);
  }

  @Test
  void slotsOfANodeThatDied_comeBack_butNotThoseOfOneThatOnlyHasANewOwner() throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(2);
    Caller caller = SimulatedNodes.caller(concurrent(10));
    for (int i = 0; i < 10; i++) {
      assertThat(admit(nodes, 0, caller)).isNotNull();
    }
    nodes.moveOwners();
    nodes.advance(Duration.ofSeconds(1));
    assertThat(admit(nodes, 1, caller)).isNull();
    nodes.cut(0, true);
    for (int second = 0; second < 4; second++) {
      nodes.advance(Duration.ofSeconds(1));
      assertThat(admit(nodes, 1, caller)).isNull();
    }
    nodes.advance(LimitLedger.LEASE);
    for (int i = 0; i < 10; i++) {
      assertThat(admit(nodes, 1, caller)).isNotNull();
    }
    assertThat(admit(nodes, 1, caller)).isNull();
  }

  @Test
  void nodeThatIsCutOff_hasItsShare_isDegraded_andIsHeldToTheWholeLimitAgainAfterwards() throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(3);
    Caller caller = SimulatedNodes.caller(rpm(6000));
    for (int i = 0; i < 6000; i++) {
      admit(nodes, i % 3, caller);
    }
    nodes.cut(2, true);
    assertThat(admitted(nodes, caller, 2, 30)).isBetween(30 * 100 / 3 * 90L / 100, 30 * 100 / 3 * 110L / 100);
    assertThat(nodes.limiter(2).problems()).singleElement().asString().contains("own share");
    assertThat(nodes.limiter(0).problems()).isEmpty();
    nodes.cut(2, false);
    nodes.advance(Duration.ofSeconds(1));
    assertThat(nodes.limiter(2).problems()).isEmpty();
    admitted(nodes, caller, 2, 60);
    assertThat(admitted(nodes, caller, 2, 30)).isBetween(2850L, 3060L);
  }

  /** How many of twice as many requests as the limit allows are admitted in some seconds. */
  private static long admitted(SimulatedNodes nodes, Caller caller, int node, int seconds) throws Exception {
    long admitted = 0;
    for (int step = 0; step < seconds * STEPS_A_SECOND; step++) {
      nodes.advance(STEP);
      for (int i = 0; i < 2; i++) {
        LimitReservation reservation = admit(nodes, node, caller);
        if (reservation != null) {
          admitted++;
          reservation.release();
        }
      }
    }
    return admitted;
  }

  @Test
  void budgetThatANodeGaveItself_isCountedByTheOwner() throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(2);
    Caller caller = SimulatedNodes.caller(budget(100_000));
    use(nodes, 0, caller, 20_000);
    nodes.cut(0, true);
    use(nodes, 0, caller, 20_000);
    nodes.cut(0, false);
    nodes.advance(Duration.ofSeconds(1));
    nodes.advance(Duration.ofSeconds(2));
    LimitReservation reservation = Objects.requireNonNull(admit(nodes, 1, caller));
    assertThat(reservation.reserve(new Demand(61_000, 0))).isNotNull();
    assertThat(Objects.requireNonNull(admit(nodes, 1, caller)).reserve(new Demand(59_000, 0))).isNull();
  }

  private static void use(SimulatedNodes nodes, int node, Caller caller, long tokens) throws Exception {
    for (long used = 0; used < tokens; used += 1000) {
      nodes.advance(STEP);
      LimitReservation reservation = Objects.requireNonNull(admit(nodes, node, caller));
      assertThat(reservation.reserve(new Demand(1000, 0))).isNull();
      reservation.settle(new Work(1000, 0, 0));
    }
  }

  @Test
  void limitsThatChange_keepWhatIsUsed() throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(1);
    use(nodes, 0, SimulatedNodes.caller(budget(100_000)), 60_000);
    Caller less = SimulatedNodes.caller(budget(50_000));
    Objects.requireNonNull(admit(nodes, 0, less)).release();
    nodes.advance(Duration.ofSeconds(2));
    assertThat(Objects.requireNonNull(admit(nodes, 0, less)).reserve(new Demand(100, 0))).isNotNull();
    Caller more = SimulatedNodes.caller(budget(200_000));
    nodes.advance(Duration.ofSeconds(2));
    assertThat(Objects.requireNonNull(admit(nodes, 0, more)).reserve(new Demand(130_000, 0))).isNull();
  }

  @Test
  void shadow_countsAndAnswersAllTheSame() throws Exception {
    LimitSettings shadow =
        new LimitSettings(true, new WorkCost(0.1, 3), Duration.ofMinutes(1), Duration.ofMillis(1), 10);
    SimulatedNodes nodes = new SimulatedNodes(1, shadow);
    Caller caller = SimulatedNodes.caller(new Limits(2, 100, 0, List.of()));
    for (int i = 0; i < 5; i++) {
      LimitReservation reservation = Objects.requireNonNull(admit(nodes, 0, caller));
      assertThat(reservation.reserve(new Demand(100, 0))).isNull();
      reservation.settle(new Work(100, 0, 0));
    }
    assertThat(scrape(nodes))
        .contains("kvasir_limit_refusals_total{dimension=\"requests\",limit=\"key\",shadow=\"true\",tenant=\"t\"} 3.0")
        .contains("kvasir_limit_refusals_total{dimension=\"tokens\",limit=\"key\",shadow=\"true\",tenant=\"t\"} 1.0");
  }

  private static String scrape(SimulatedNodes nodes) throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    nodes.metrics(0).write(null, out);
    return out.toString(StandardCharsets.UTF_8);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void accountsThatAreNotUsed_areForgotten_whenThereAreMany(boolean budgets) throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(1);
    Limits limits = budgets ? budget(1000) : rpm(60);
    for (int i = 0; i < 3 * SimulatedNodes.MOST_IDLE; i++) {
      LimitReservation reservation =
          Objects.requireNonNull(admit(nodes, 0, new Caller("k" + i, "t", Grants.ALL, limits, Limits.NONE)));
      assertThat(reservation.reserve(new Demand(10, 0))).isNull();
      reservation.settle(new Work(10, 0, 0));
    }
    assertThat(nodes.limiter(0).statuses()).hasSize(3 * SimulatedNodes.MOST_IDLE);
    rest(nodes, 30);
    assertThat(nodes.limiter(0).statuses()).hasSize(SimulatedNodes.MOST_IDLE);
  }

  @Test
  void callerWithoutLimits_hasOneReservationForAll() throws Exception {
    SimulatedNodes nodes = new SimulatedNodes(1);
    assertThat(admit(nodes, 0, Caller.anonymous(true))).isSameAs(LimitReservation.NONE);
    assertThat(nodes.limiter(0).statuses()).isEmpty();
  }
}
