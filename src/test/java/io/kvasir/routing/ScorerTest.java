package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.kvasir.index.Chain;
import io.kvasir.routing.Explanation.Candidate;
import io.kvasir.routing.Explanation.Score;
import io.kvasir.routing.Selection.Chosen;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ScorerTest {
  private final Routing routing = new Routing(8);

  /** The policy as a walk down the list of matches, as it is usually described. */
  @Test
  void longestPrefix_agreesWithTheWalkDownTheMatches() {
    RandomGenerator random = new SplittableRandom(9);
    Selector selector = routing.selector("prefix-aware");
    for (int i = 0; i < 500; i++) {
      TestFleet fleet = TestFleet.of(random.nextInt(1, 20));
      List<Integer> slots = new ArrayList<>();
      for (int slot = 0; fleet.alive[slot]; slot++) {
        fleet.depth[slot] = random.nextInt(0, 6);
        fleet.inFlight[slot] = random.nextInt(0, 12);
        slots.add(slot);
      }
      slots.sort(
          Comparator.<Integer>comparingInt(slot -> -fleet.depth[slot])
              .thenComparingInt(slot -> fleet.inFlight[slot]));
      int expected =
          slots.stream()
              .filter(slot -> fleet.depth[slot] >= 2 && fleet.inFlight[slot] < 8)
              .findFirst()
              .orElse(slots.stream().min(Comparator.comparingInt(slot -> fleet.inFlight[slot])).orElseThrow());
      boolean holder = fleet.depth[expected] >= 2 && fleet.inFlight[expected] < 8;
      int depth = fleet.depth[expected];
      int inFlight = fleet.inFlight[expected];

      int chosen = chosen(selector, fleet).slot();

      assertThat(fleet.inFlight[chosen] - 1).isEqualTo(inFlight);
      if (holder) {
        assertThat(fleet.depth[chosen]).isEqualTo(depth);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"requests, 0", "tokens, 1", "kv, 2", "queue, 3"})
  void leastLoad_looksAtTheMeasureAskedFor(String by, int slot) {
    TestFleet fleet = TestFleet.of(4);
    for (int other = 0; other < 4; other++) {
      fleet.inFlight[other] = other == 0 ? 1 : 2;
      fleet.pendingTokens[other] = other == 1 ? 1 : 2;
      fleet.contextTokens[other] = other == 2 ? 1 : 2;
      fleet.queueMs[other] = other == 3 ? 1 : 2;
    }

    Selector selector = routing.picking("score { plugin = least-load, by = " + by + " }, pick = max-score");

    assertThat(chosen(selector, fleet).slot()).isEqualTo(slot);
  }

  @Test
  void saturation_sparesBusyWorkersWhileThereAreOthers() {
    TestFleet fleet = TestFleet.of(3);
    fleet.depth[0] = 20;
    fleet.inFlight[0] = 4;
    fleet.inFlight[1] = 3;
    fleet.inFlight[2] = 9;
    Selector selector =
        routing.picking(
            """
            filter = [ role, model, excluded, { plugin = saturation, in-flight = 4 } ]
            score = cache-affinity
            pick = max-score
            """);

    assertThat(chosen(selector, fleet).slot()).isEqualTo(1);
    assertThat(chosen(selector, fleet).slot()).isEqualTo(0);
  }

  @Test
  void sessionAffinity_keepsASessionTogetherAndMovesOnlyOrphans() {
    Selector selector = routing.picking("score = session-affinity, pick = max-score");
    TestFleet fleet = TestFleet.of(8);
    int[] home = new int[200];
    for (int session = 0; session < home.length; session++) {
      home[session] = chosen(selector, fleet, "s" + session);
      assertThat(chosen(selector, fleet, "s" + session)).isEqualTo(home[session]);
    }
    assertThat(IntStream.of(home).distinct().count()).isEqualTo(8);

    fleet.alive[3] = false;

    for (int session = 0; session < home.length; session++) {
      int now = chosen(selector, fleet, "s" + session);
      assertThat(home[session] == 3 || now == home[session]).isTrue();
    }
  }

  @Test
  void tierAffinity_countsBlocksByWhereTheyAre() {
    TestFleet fleet = TestFleet.of(4);
    Arrays.fill(fleet.depth, 0, 3, 10);
    fleet.depth[3] = 4;
    fleet.tiers.put(0, new int[] {10, 0, 0, 0});
    fleet.tiers.put(1, new int[] {2, 4, 4, 0});
    fleet.tiers.put(2, new int[] {0, 0, 0, 5});
    Selector selector = routing.picking("score = tier-affinity, pick = max-score");

    List<Double> scores = scores(selector, fleet, Routing.request(10, 16, 200));

    // 160 of 200 tokens cached; of the third worker's ten blocks five are predicted; the fourth's tiers are not known.
    assertThat(scores.get(0)).isCloseTo(0.8, within(1e-9));
    assertThat(scores.get(1)).isCloseTo(0.8 * (2 + 4 * 0.75 + 4 * 0.5) / 10, within(1e-9));
    assertThat(scores.get(2)).isCloseTo(0.8 * (5 * 0.25 + 5) / 10, within(1e-9));
    assertThat(scores.get(3)).isCloseTo(4 * 16 / 200.0, within(1e-9));
  }

  @Test
  void tierAffinity_readsTiersOfTheDeepestOnly() {
    TestFleet fleet = TestFleet.of(60);
    for (int slot = 0; slot < 60; slot++) {
      fleet.depth[slot] = slot % 10;
      fleet.tiers.put(slot, new int[] {0, 0, 0, slot % 10});
    }
    Selector selector = routing.picking("score { plugin = tier-affinity, look-at = 6 }, pick = max-score");

    List<Double> scores = scores(selector, fleet, Routing.request(10, 16, 200));

    assertThat(fleet.tierReads).isEqualTo(6);
    for (int slot = 0; slot < 60; slot++) {
      double worth = slot % 10 == 9 ? 0.25 : 1;
      assertThat(scores.get(slot)).isCloseTo(worth * (slot % 10) * 16 / 200.0, within(1e-9));
    }
  }

  @Test
  void externalMetric_whatIsPosted_whileItIsFresh() {
    AtomicLong nanos = new AtomicLong(1_000_000_000_000L);
    Selector selector =
        routing.picking(
            "score { plugin = external-metric, metric = price, most-age = 10 s, better = higher }, pick = max-score",
            nanos::get);
    TestFleet fleet = TestFleet.of(3);
    routing.figures.report("price", "w0", 7, nanos.get());
    routing.figures.report("price", "w1", 9, nanos.get() - 20_000_000_000L);
    routing.figures.report("speed", "w2", 9, nanos.get());

    assertThat(scores(selector, fleet, Routing.request(1, 16, 20))).containsExactly(7.0, Double.NaN, Double.NaN);
    assertThat(chosen(selector, fleet).slot()).isZero();
    routing.figures.report("price", "w2", 8, nanos.get());
    assertThat(chosen(selector, fleet).slot()).isEqualTo(2);
    nanos.addAndGet(11_000_000_000L);
    assertThat(scores(selector, fleet, Routing.request(1, 16, 20))).containsOnly(Double.NaN);
  }

  @ParameterizedTest
  @CsvSource({"waiting, 3", "kv-use, 0.5"})
  void externalMetric_theEnginesOwn(String metric, double reported) {
    TestFleet fleet = TestFleet.of(2);
    fleet.waiting[0] = 3;
    fleet.kvUse[0] = 0.5;
    Selector selector =
        routing.picking(
            "score { plugin = external-metric, metric = %s, otherwise = 4 }, pick = max-score".formatted(metric));

    assertThat(scores(selector, fleet, Routing.request(1, 16, 20))).containsExactly(reported, 4.0);
  }

  @Test
  void locality_hostThenZoneThenRegion() {
    TestFleet fleet =
        TestFleet.labelled(
            Map.of("region", "eu", "zone", "a", "host", "h"),
            Map.of("region", "eu", "zone", "a", "host", "i"),
            Map.of("region", "eu", "zone", "b"),
            Map.of("region", "us", "zone", "c"),
            Map.of());
    Selector selector = routing.picking("score = locality, pick = max-score");

    assertThat(scores(selector, fleet, Routing.request(1, 16, 20).put(Slots.LOCATION, new Location("eu", "a", "h"))))
        .containsExactly(1.0, 0.6, 0.3, 0.0, 0.0);
    assertThat(scores(selector, fleet, Routing.request(1, 16, 20).put(Slots.LOCATION, new Location("us", "", ""))))
        .containsExactly(0.0, 0.0, 0.0, 0.3, 0.0);
    assertThat(scores(selector, fleet, Routing.request(1, 16, 20).put(Slots.LOCATION, new Location("", "", ""))))
        .containsOnly(0.0);
  }

  @Test
  void loraAffinity_prefersWhereTheAdapterIsThenWhereItFits() {
    TestFleet fleet = TestFleet.labelled(Map.of(), Map.of());
    Selector selector = routing.picking("score { plugin = lora-affinity, adapters = 2 }, pick = max-score");
    for (String adapter : List.of("a", "b", "a", "c")) {
      fleet.alive[1] = false;
      selector.select(fleet, adapter(adapter));
    }
    fleet.alive[1] = true;

    assertThat(scores(selector, fleet, adapter("a"))).containsExactly(1.0, 0.5);
    assertThat(scores(selector, fleet, adapter("b"))).containsExactly(0.0, 0.5);
    assertThat(scores(selector, fleet, adapter("c"))).containsExactly(1.0, 0.5);
    assertThat(scores(selector, fleet, adapter("m"))).containsExactly(0.0, 0.0);
  }

  private static RoutingContext adapter(String name) {
    return Routing.request(name, Role.BOTH, Set.of())
        .put(Slots.PROMPT_TOKENS, 20)
        .put(Slots.CHAIN, Chain.EMPTY);
  }

  private static List<Double> scores(Selector selector, TestFleet fleet, RoutingContext request) {
    return selector.explain(fleet, request).candidates().stream()
        .map(candidate -> candidate.scores().getFirst().raw())
        .toList();
  }

  @Test
  void sum_normalisesWeighsAndTurns() {
    TestFleet fleet = TestFleet.of(3);
    fleet.depth[0] = 10;
    fleet.depth[1] = 5;
    fleet.queueMs[0] = 300;
    fleet.queueMs[1] = 100;
    fleet.queueMs[2] = 200;
    Selector selector =
        routing.picking(
            """
            score = [
              { plugin = cache-affinity, weight = 3, normalise = none }
              { plugin = least-load, by = queue, weight = 2 }
            ]
            pick = max-score
            """);

    Explanation explanation = selector.explain(fleet, Routing.request(10, 16, 200));

    double[] expected = {3 * 160 / 200.0 + 2 * 0, 3 * 80 / 200.0 + 2 * 1, 3 * 0 + 2 * 0.5};
    for (Candidate candidate : explanation.candidates()) {
      assertThat(candidate.total()).isCloseTo(expected[candidate.worker().slot()], within(1e-9));
    }
    assertThat(explanation.candidates().getFirst().scores())
        .containsExactly(new Score("cache-affinity", 0.8, 0.8 * 3), new Score("least-load", 300, 0));
    assertThat(explanation.selection())
        .isInstanceOfSatisfying(Chosen.class, chosen -> assertThat(chosen.slot()).isEqualTo(1));
  }

  @Test
  void sum_equalCandidates_normaliseToNothingAndStayEqual() {
    TestFleet fleet = TestFleet.of(2);
    Selector selector = routing.picking("score = [ least-load, cache-affinity ], pick = max-score");

    assertThat(selector.explain(fleet, Routing.request(10, 16, 200)).candidates())
        .allMatch(candidate -> candidate.total() == 0);
  }

  @Test
  void score_thatIsNotANumber_isTheWorst() {
    TestFleet fleet = TestFleet.of(3);
    fleet.queueMs[0] = Double.NaN;
    fleet.queueMs[1] = 1e9;
    fleet.queueMs[2] = Double.POSITIVE_INFINITY;
    for (String normalise : List.of("none", "min-max")) {
      Selector selector =
          routing.picking(
              "score { plugin = least-load, by = queue, normalise = %s }, pick = max-score".formatted(normalise));

      assertThat(selector.explain(fleet, Routing.request(1, 16, 20)).selection())
          .isInstanceOfSatisfying(Chosen.class, chosen -> assertThat(chosen.slot()).isEqualTo(1));
    }
  }

  private static int chosen(Selector selector, TestFleet fleet, String session) {
    RoutingContext request = Routing.request("m", Role.BOTH, Set.of()).put(Slots.SESSION_KEY, session);
    return ((Chosen) selector.select(fleet, request)).slot();
  }

  private static Chosen chosen(Selector selector, TestFleet fleet) {
    return (Chosen) selector.select(fleet, Routing.request(20, 16, 330));
  }
}
