package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.index.Chain;
import io.kvasir.routing.Selection.Chosen;
import io.kvasir.routing.Selection.None;
import io.kvasir.routing.cost.EngineCost;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class SelectorTest {
  private final Routing routing = new Routing(42);

  @Test
  void select_warmWorker_isChosenAndBookedByWhatItLacks() {
    TestFleet fleet = TestFleet.of(4);
    fleet.depth[2] = 12;

    Chosen chosen = chosen(routing.selector("expected-cost"), fleet, Routing.request(24, 16, 389));

    assertThat(chosen.slot()).isEqualTo(2);
    assertThat(chosen.worker().id()).isEqualTo("w2");
    assertThat(chosen.depth()).isEqualTo(12);
    assertThat(chosen.predictedCachedTokens()).isEqualTo(192);
    assertThat(chosen.booking().promptTokens()).isEqualTo(389);
    assertThat(chosen.booking().uncachedTokens()).isEqualTo(197);
    assertThat(chosen.alternatives()).hasSize(3).doesNotContain(chosen.worker());
    assertThat(fleet.booked).containsExactly(chosen.booking());
    assertThat(chosen.reason()).isEqualTo("expected-cost; depth=12/24; cached=192/389; candidates=4");
  }

  @Test
  void select_wholePromptCached_leavesTheLastBlockToCompute() {
    TestFleet fleet = TestFleet.of(1);
    fleet.depth[0] = 4;

    Chosen chosen = chosen(routing.selector("expected-cost"), fleet, Routing.request(4, 16, 64));

    assertThat(chosen.predictedCachedTokens()).isEqualTo(48);
    assertThat(chosen.booking().uncachedTokens()).isEqualTo(16);
  }

  @ParameterizedTest
  @ValueSource(strings = {"expected-cost", "prefix-aware", "least-loaded", "round-robin", "random"})
  void select_workerFilledBehindOurBack_yieldsToTheNext(String profile) {
    TestFleet fleet = TestFleet.of(3);
    Fleet stale = new StaleFleet(fleet);
    fleet.depth[0] = 10;
    fleet.inFlight[0] = 100;
    fleet.inFlight[1] = 100;

    for (int i = 0; i < 20; i++) {
      Chosen chosen = chosen(routing.selector(profile), stale, Routing.request(10, 16, 170));
      assertThat(chosen.slot()).isEqualTo(2);
      assertThat(chosen.alternatives()).doesNotContain(chosen.worker());
      assertThat(chosen.reason()).startsWith(profile + "; depth=0/10; cached=0/170; candidates=3");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"expected-cost", "prefix-aware", "least-loaded", "round-robin", "random"})
  void select_allFilledBehindOurBack_saysThereIsNoRoom(String profile) {
    TestFleet fleet = TestFleet.of(6);
    Fleet stale = new StaleFleet(fleet);
    Arrays.fill(fleet.inFlight, 100);

    assertThat(routing.selector(profile).select(stale, Routing.request(1, 16, 20)))
        .isEqualTo(new None(UnmetNeed.ROOM, "none of 6 workers has room for another request"));
    assertThat(fleet.booked).isEmpty();
  }

  @Test
  void select_nobodyAlive_wantsLive() {
    TestFleet fleet = TestFleet.of(1);
    fleet.alive[0] = false;

    assertThat(none(fleet, Routing.request(1, 16, 20))).isEqualTo(UnmetNeed.LIVE);
  }

  @Test
  void select_emptiedByAFilter_saysWhatIsWanted() {
    Worker prefill = TestFleet.worker(0, Role.PREFILL, Set.of("m", "m:lora"), 1, "");
    TestFleet fleet = new TestFleet(prefill);

    assertThat(none(fleet, Routing.request("m", Role.BOTH, Set.of()))).isEqualTo(UnmetNeed.ROLE);
    assertThat(none(fleet, Routing.request("other", Role.PREFILL, Set.of()))).isEqualTo(UnmetNeed.MODEL);
    assertThat(none(fleet, Routing.request("m", Role.PREFILL, Set.of("w0")))).isEqualTo(UnmetNeed.UNTRIED);
    assertThat(routing.selector("random").select(fleet, Routing.request("m:lora", Role.PREFILL, Set.of())))
        .isInstanceOf(Chosen.class);
    assertThat(none(fleet, Routing.request("m", Role.PREFILL, Set.of()))).isEqualTo(UnmetNeed.ROOM);
  }

  @Test
  void select_membershipChanged_filtersByTheNewTable() {
    Selector selector = routing.selector("expected-cost");
    TestFleet before = TestFleet.of(2);
    TestFleet after =
        new TestFleet(
            TestFleet.worker(0, Role.BOTH, Set.of("n"), 9, ""), TestFleet.worker(1, Role.BOTH, Set.of("m"), 9, ""));
    before.inFlight[1] = 5;

    assertThat(chosen(selector, before, Routing.request(0, 16, 5)).slot()).isZero();
    assertThat(chosen(selector, after, Routing.request(0, 16, 5)).slot()).isEqualTo(1);
  }

  @Test
  void select_nothingKnownOfThePrompt_stillBooksLoad() {
    TestFleet fleet = TestFleet.of(2);

    Chosen unprepared = chosen(routing.selector("expected-cost"), fleet, Routing.request("m", Role.BOTH, Set.of()));
    Chosen empty = chosen(routing.selector("expected-cost"), fleet, Routing.request(0, 16, 0));

    assertThat(unprepared.booking().promptTokens()).isEqualTo(1);
    assertThat(unprepared.booking().prefillMicros()).isPositive();
    assertThat(empty.booking().uncachedTokens()).isEqualTo(1);
    assertThat(fleet.inFlight[0] + fleet.inFlight[1]).isEqualTo(2);
    assertThat(unprepared.slot()).isNotEqualTo(empty.slot());
  }

  /** The formula once more, written as it stands in the literature, over random fleets and requests. */
  @Test
  void expectedCost_agreesWithTheFormula() {
    String[] engines = {"h100-Qwen2.5-7B-tp1", "a100-Qwen2.5-14B-tp1", "nobody-knows"};
    RandomGenerator random = new SplittableRandom(7);
    Selector selector = routing.selector("expected-cost");
    for (int i = 0; i < 300; i++) {
      routing.outputs.observe("m", random.nextInt(1, 2000));
      int workers = random.nextInt(1, 200);
      Worker[] table = new Worker[workers];
      Arrays.setAll(
          table, slot -> TestFleet.worker(slot, Role.BOTH, Set.of("m"), 1000, engines[random.nextInt(3)]));
      TestFleet fleet = new TestFleet(table);
      int blocks = random.nextInt(0, 40);
      int tokens = blocks * 16 + random.nextInt(blocks == 0 ? 1 : 0, 16);
      for (int slot = 0; slot < workers; slot++) {
        fleet.depth[slot] = random.nextInt(0, blocks + 1);
        fleet.inFlight[slot] = random.nextInt(0, 3);
        fleet.queueMs[slot] = random.nextInt(0, i % 3 == 0 ? 20_000 : 100);
        fleet.contextTokens[slot] = fleet.inFlight[slot] * random.nextLong(1, 10_000);
        fleet.evictionLoss[slot] = i % 2 == 0 ? random.nextDouble() : 0;
      }
      double backlogSeconds = 0;
      for (int slot = 0; slot < workers; slot++) {
        backlogSeconds += Math.min(5, fleet.queueMs[slot] / 1e3) / workers;
      }
      double[] cost = new double[workers];
      for (int slot = 0; slot < workers; slot++) {
        EngineCost engine = routing.costs.of(table[slot].engine());
        double n = tokens;
        double u = n - Math.min(16.0 * fleet.depth[slot], 16 * Math.floor((n - 1) / 16));
        double prefill = engine.msPerToken() * u + engine.msPerPair() * u * (n - u / 2);
        double loss = Math.min(0.95, fleet.evictionLoss[slot]);
        cost[slot] =
            fleet.queueMs[slot]
                + prefill * (3 + 4 * backlogSeconds + 4 * loss * loss / (1 - loss) + 0.3 * fleet.inFlight[slot])
                + 2 * routing.outputs.expected("m") * engine.msPerContextToken() * fleet.contextTokens[slot];
      }

      Chosen chosen = chosen(selector, fleet, Routing.request(blocks, 16, tokens));

      double least = Arrays.stream(cost).min().orElseThrow();
      assertThat(cost[chosen.slot()]).isLessThanOrEqualTo(least * (1 + 1e-12) + 1e-12);
      List<Double> ranked =
          chosen.alternatives().stream().map(worker -> cost[worker.slot()]).toList();
      assertThat(ranked).isSorted().hasSize(Math.min(3, workers - 1));
    }
  }

  /** A fleet that is behind keeps a prefix where it is; one that has nothing else to do copies it. */
  @Test
  void expectedCost_copiesAPrefix_theLessReadilyTheMoreIsQueuedInTheFleet() {
    Selector selector = routing.selector("expected-cost");
    RoutingContext request = Routing.request(100, 16, 1_601);
    TestFleet fleet = TestFleet.of(8);
    fleet.depth[0] = 100;
    Arrays.fill(fleet.queueMs, 0);
    fleet.queueMs[0] = 1_000;
    assertThat(chosen(selector, fleet, request).slot()).as("one that is idle").isNotZero();

    Arrays.fill(fleet.queueMs, 4_000);
    fleet.queueMs[0] = 4_500;
    assertThat(chosen(selector, fleet, request).slot()).as("the holder").isZero();

    fleet.queueMs[0] = 60_000;
    assertThat(chosen(selector, fleet, request).slot()).as("any other, once the holder is far behind").isNotZero();
  }

  /** Whatever the profile and the state of the fleet: only live, able workers with room, and never for free. */
  @ParameterizedTest
  @ValueSource(strings = {"expected-cost", "prefix-aware", "least-loaded", "round-robin", "random"})
  void select_anyFleet_choosesSomebodyAbleOrTellsTheTruth(String profile) {
    RandomGenerator random = new SplittableRandom(11);
    List<Role> roles = List.of(Role.PREFILL, Role.DECODE, Role.ENCODE, Role.BOTH);
    Selector selector = routing.selector(profile);
    for (int i = 0; i < 500; i++) {
      int workers = random.nextInt(1, 257);
      Worker[] table = new Worker[workers];
      Arrays.setAll(
          table,
          slot ->
              TestFleet.worker(
                  slot, roles.get(random.nextInt(roles.size())), Set.of(random.nextBoolean() ? "m" : "x"), 2, ""));
      TestFleet fleet = new TestFleet(table);
      Set<String> excluded = new HashSet<>();
      Set<Integer> able = new HashSet<>();
      int crowd = random.nextInt(1, 5);
      for (int slot = 0; slot < workers; slot++) {
        fleet.alive[slot] = random.nextInt(4) > 0;
        fleet.inFlight[slot] = random.nextInt(0, crowd);
        fleet.depth[slot] = random.nextInt(0, 9);
        if (random.nextInt(10) == 0) {
          excluded.add("w" + slot);
        }
        Role role = table[slot].role();
        if (fleet.alive[slot] && fleet.inFlight[slot] < 2 && !excluded.contains("w" + slot)
            && (role == Role.DECODE || role == Role.BOTH) && table[slot].models().contains("m")) {
          able.add(slot);
        }
      }
      RoutingContext request =
          Routing.request("m", Role.DECODE, excluded)
              .put(Slots.PROMPT_TOKENS, random.nextInt(0, 100))
              .put(Slots.CHAIN, new Chain(new long[] {1, 2, 3, 4, 5, 6}, 16));

      switch (selector.select(fleet, request)) {
        case Chosen chosen -> {
          assertThat(able).contains(chosen.slot());
          assertThat(chosen.candidates()).isEqualTo(able.size());
          assertThat(chosen.alternatives()).doesNotHaveDuplicates().allMatch(worker -> able.contains(worker.slot()));
          assertThat(fleet.bookedSlots).containsExactly(chosen.slot());
          assertThat(fleet.booked.getFirst().uncachedTokens()).isPositive();
          assertThat(fleet.booked.getFirst().prefillMicros()).isPositive();
        }
        case None _ -> assertThat(able).isEmpty();
      }
    }
  }

  @Test
  void select_sameSeed_sameChoices() {
    assertThat(choices(new Routing(5))).isEqualTo(choices(new Routing(5))).isNotEqualTo(choices(new Routing(6)));
  }

  @Test
  void select_manyThreads_bookExactlyWhatThereIsRoomFor() throws Exception {
    TestFleet fleet = TestFleet.of(10);
    Selector selector = routing.selector("expected-cost");
    int chosen = 0;
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Selection>> selections = new ArrayList<>();
      for (int i = 0; i < 1200; i++) {
        selections.add(threads.submit(() -> selector.select(fleet, Routing.request(8, 16, 130))));
      }
      for (Future<Selection> selection : selections) {
        chosen += selection.get() instanceof Chosen ? 1 : 0;
      }
    }

    assertThat(chosen).isEqualTo(1000);
    assertThat(fleet.inFlight).startsWith(100, 100, 100, 100, 100, 100, 100, 100, 100, 100);
  }

  @Test
  void step_hasItsAlternatives() {
    Chosen chosen = chosen(routing.selector("expected-cost"), TestFleet.of(3), Routing.request(1, 16, 20));

    RoutingPlan.Step step = chosen.step(RoutingPlan.WHOLE);
    assertThat(step.worker()).isEqualTo(chosen.worker());
    assertThat(step.role()).isEqualTo(Role.BOTH);
    assertThat(step.alternatives()).hasSize(2);
    assertThat(step.onFailure()).isEqualTo(FailurePolicy.NEXT_CANDIDATE);
  }

  private static List<Integer> choices(Routing routing) {
    TestFleet fleet = TestFleet.of(30);
    Selector selector = routing.selector("random");
    List<Integer> slots = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      slots.add(chosen(selector, fleet, Routing.request(1, 16, 20)).slot());
    }
    return slots;
  }

  private UnmetNeed none(TestFleet fleet, RoutingContext request) {
    return ((None) routing.selector("random").select(fleet, request)).unmetNeed();
  }

  private static Chosen chosen(Selector selector, Fleet fleet, RoutingContext request) {
    Selection selection = selector.select(fleet, request);
    assertThat(selection).isInstanceOf(Chosen.class);
    return (Chosen) selection;
  }

  /** Shows every worker idle, so that only booking tells which are full. */
  private record StaleFleet(TestFleet fleet) implements Fleet {
    @Override
    public int slots() {
      return fleet.slots();
    }

    @Override
    public void snapshot(Candidates candidates) {
      fleet.snapshot(candidates);
      Arrays.fill(candidates.inFlight, 0);
    }

    @Override
    public void search(Chain chain, Candidates candidates) {
      fleet.search(chain, candidates);
    }

    @Override
    public boolean reserve(int slot, Booking booking) {
      return fleet.reserve(slot, booking);
    }

    @Override
    public void cancel(int slot, Booking booking) {
      fleet.cancel(slot, booking);
    }
  }
}
