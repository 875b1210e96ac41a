package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.kvasir.index.Chain;
import io.kvasir.routing.Explanation.Candidate;
import io.kvasir.routing.Selection.Chosen;
import io.kvasir.routing.Selection.None;
import io.kvasir.routing.cost.EngineCost;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The rules of other routers, as their authors state them, against what the profiles of their names do. */
final class PolicyTest {
  private static final int BLOCK = 16;
  private static final int PROMPT = 330;
  private static final String ENGINE = "h100-Qwen2.5-7B-tp1";

  private final Routing routing = new Routing(8);
  private final EngineCost cost = routing.costs.of(ENGINE);

  /** A rule's cost of sending the prompt to a slot, least best. */
  private interface Rule {
    double cost(TestFleet fleet, int slot, int uncached);
  }

  @Test
  void workLeft_isPendingAndUncached() {
    agrees("work-left", (fleet, slot, uncached) -> fleet.pendingTokens[slot] + uncached);
  }

  @Test
  void mooncake_isThePredictedTimeToFirstToken() {
    agrees("mooncake", (fleet, slot, uncached) -> fleet.queueMs[slot] + cost.prefillMs(uncached, PROMPT));
  }

  @Test
  void lmetric_isWorkTimesCompany() {
    agrees(
        "lmetric",
        (fleet, slot, uncached) -> (double) (fleet.pendingTokens[slot] + uncached) * (fleet.inFlight[slot] + 1));
  }

  @Test
  void additiveBlocks_isPrefillAndMemory() {
    agrees(
        "additive-blocks",
        (fleet, slot, uncached) ->
            (fleet.pendingTokens[slot] + uncached) / (double) BLOCK
                + (fleet.contextTokens[slot] + PROMPT) / (double) BLOCK);
  }

  @Test
  void preble_exploitsALongMatchAndExploresOtherwise() {
    Selector selector = routing.selector("preble");
    TestFleet fleet = TestFleet.of(3);
    fleet.queueMs[0] = 120;
    fleet.queueMs[1] = 110;
    fleet.queueMs[2] = 100;
    fleet.depth[0] = 15;
    fleet.depth[1] = 15;
    assertThat(chosen(selector, fleet)).as("the idler of the holders").isEqualTo(1);

    fleet.depth[0] = 5;
    fleet.depth[1] = 5;
    fleet.queueMs[2] = 0;
    assertThat(chosen(selector, fleet)).as("no one has half of it").isEqualTo(2);

    fleet.depth[0] = 20;
    fleet.queueMs[2] = 10;
    fleet.queueMs[0] = 500;
    assertThat(chosen(selector, fleet)).as("the holder is overloaded").isEqualTo(2);
  }

  @Test
  void cacheAware_inBalance_matchesAndFillsTheEmptiest() {
    Selector selector = routing.selector("cache-aware");
    TestFleet fleet = TestFleet.of(3);
    fleet.inFlight[1] = 60;
    fleet.depth[1] = 12;
    assertThat(chosen(selector, fleet)).isEqualTo(1);

    fleet.depth[1] = 2;
    int first = chosen(selector, fleet);
    int second = chosen(selector, fleet);
    assertThat(first).as("it has been sent the least").isNotEqualTo(1);
    assertThat(second).isNotEqualTo(1).isNotEqualTo(first);
  }

  @Test
  void cacheAware_outOfBalance_takesTheFewestInFlight() {
    TestFleet fleet = TestFleet.of(3);
    fleet.inFlight[1] = 70;
    fleet.inFlight[2] = 3;
    fleet.depth[1] = 20;

    assertThat(chosen(routing.selector("cache-aware"), fleet)).isEqualTo(0);
  }

  @Test
  void weightedSum_addsCacheQueueAndRoom() {
    TestFleet fleet = TestFleet.of(3);
    fleet.depth[0] = 10;
    fleet.queueMs[0] = 300;
    fleet.queueMs[1] = 100;
    fleet.queueMs[2] = 200;
    fleet.contextTokens[2] = 500_000;

    Explanation explanation = routing.selector("weighted-sum").explain(fleet, request());

    double full = 2 * (1 - 500_000 / cost.kvTokens());
    double[] expected = {3 * 160.0 / PROMPT + 2 * 0 + 2, 2 * 1 + 2, 2 * 0.5 + full};
    for (Candidate candidate : explanation.candidates()) {
      assertThat(candidate.total()).isCloseTo(expected[candidate.worker().slot()], within(1e-9));
    }
  }

  @Test
  void weightedSum_coldRequests_goRound() {
    TestFleet fleet = TestFleet.of(3);
    Selector selector = routing.selector("weighted-sum");
    for (int i = 0; i < 9; i++) {
      chosen(selector, fleet);
      Arrays.fill(fleet.queueMs, 0);
      Arrays.fill(fleet.contextTokens, 0);
    }

    assertThat(Arrays.copyOf(fleet.inFlight, 3)).containsOnly(3);
  }

  @Test
  void sticky_staysWithTheWarmUntilTheyAreBehind() {
    Selector selector = routing.selector("sticky");
    TestFleet fleet = TestFleet.of(3);
    fleet.depth[0] = 20;
    fleet.depth[1] = 10;
    long behind = (long) (13_900 / cost.msPerToken());
    fleet.pendingTokens[0] = behind;
    assertThat(chosen(selector, fleet)).isEqualTo(0);

    fleet.pendingTokens[0] = behind + (long) (200 / cost.msPerToken());
    assertThat(chosen(selector, fleet)).isEqualTo(1);
  }

  @Test
  void startInTime_whenAllWouldBeLate_refuses() {
    TestFleet fleet = TestFleet.of(2);
    Selector selector = routing.selector("mooncake", "mooncake.filter = [ role, model, excluded, "
        + "{ plugin = start-in-time, ttft-ms = 100 } ]");
    Arrays.fill(fleet.queueMs, 99.9);
    assertThat(selector.select(fleet, request())).isInstanceOf(None.class);

    fleet.depth[1] = 20;
    fleet.queueMs[1] = 95;
    assertThat(chosen(selector, fleet)).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"warm", "start-in-time"})
  void filtersAfterTheSearch_sayWhomTheyRemoved(String filter) {
    TestFleet fleet = TestFleet.of(2);
    fleet.depth[0] = 20;
    fleet.queueMs[1] = 1e6;
    Selector selector =
        routing.picking("filter = [ role, model, excluded, " + filter + " ], pick = random");

    Explanation explanation = selector.explain(fleet, request());

    assertThat(explanation.candidates().get(1).removedBy()).isEqualTo(filter);
    assertThat(explanation.candidates().get(0).removedBy()).isNull();
  }

  private void agrees(String profile, Rule rule) {
    RandomGenerator random = new SplittableRandom(9);
    Selector selector = routing.selector(profile);
    for (int i = 0; i < 500; i++) {
      TestFleet fleet = TestFleet.of(random.nextInt(1, 20));
      double[] costs = new double[64];
      Arrays.fill(costs, Double.POSITIVE_INFINITY);
      for (int slot = 0; fleet.alive[slot]; slot++) {
        fleet.depth[slot] = random.nextInt(0, 21);
        fleet.inFlight[slot] = random.nextInt(0, 12);
        fleet.pendingTokens[slot] = random.nextInt(0, 400);
        fleet.queueMs[slot] = random.nextDouble() * 20;
        fleet.contextTokens[slot] = random.nextInt(0, 1000);
        costs[slot] = rule.cost(fleet, slot, PROMPT - fleet.depth[slot] * BLOCK);
      }

      assertThat(costs[chosen(selector, fleet)]).isEqualTo(Arrays.stream(costs).min().orElseThrow());
    }
  }

  private static int chosen(Selector selector, TestFleet fleet) {
    return ((Chosen) selector.select(fleet, request())).slot();
  }

  private static RoutingContext request() {
    return Routing.request(20, BLOCK, PROMPT).put(Slots.CHAIN, new Chain(new long[20], BLOCK));
  }
}
