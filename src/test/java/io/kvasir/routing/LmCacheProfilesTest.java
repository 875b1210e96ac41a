package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.kvasir.index.Tier;
import io.kvasir.routing.CacheMatches.Match;
import io.kvasir.routing.Selection.Chosen;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The profiles that look at LMCache, by what it says. */
final class LmCacheProfilesTest {
  private static final int TOKENS = 4000;

  private final Routing routing = new Routing(3);
  private final ScriptedCacheLayer cacheLayer = new ScriptedCacheLayer();

  /** A cache layer with the answers of the test. */
  private static final class ScriptedCacheLayer implements CacheLayer {
    private KeyCounts keys = KeyCounts.UNKNOWN;
    private CacheMatches matches = CacheMatches.UNKNOWN;
    private final List<String> compared = new ArrayList<>();

    @Override
    public KeyCounts keys() {
      return keys;
    }

    @Override
    public CompletionStage<CacheMatches> find(RoutingContext context) {
      return CompletableFuture.completedStage(matches);
    }

    @Override
    public void compared(int reportedTokens, int foundTokens) {
      compared.add(reportedTokens + " reported, " + foundTokens + " found");
    }

    @Override
    public Duration timeout() {
      return Duration.ofSeconds(60);
    }

    void keys(Map<String, Long> byWorker) {
      keys = new KeyCounts(byWorker, System.nanoTime() + Duration.ofHours(1).toNanos(), keys.version() + 1);
    }

    void matches(Match... found) {
      matches = new CacheMatches(List.of(found));
    }
  }

  private Explanation explain(String profile, TestFleet fleet) {
    return selector(profile).explain(fleet, prepared(profile));
  }

  private Chosen choose(String profile, TestFleet fleet) {
    return (Chosen) selector(profile).select(fleet, prepared(profile));
  }

  private Selector selector(String profile) {
    return routing.selector(compiled(profile), System::nanoTime);
  }

  private Profile compiled(String profile) {
    Profile compiled = routing.compiler(cacheLayer).compile(Routing.config("")).get(profile);
    if (compiled == null) {
      throw new AssertionError(profile);
    }
    return compiled;
  }

  /** As it arrives at the request's cell. */
  private RoutingContext prepared(String profile) {
    RoutingContext arrived = Routing.request(TOKENS / 16, 16, TOKENS).put(Slots.FACTS, RequestFacts.NONE);
    PreparedSlots crossed = compiled(profile).prepare(arrived);
    RoutingContext there = Routing.request(TOKENS / 16, 16, TOKENS);
    crossed.restoreInto(there);
    return there;
  }

  private static double score(Explanation explanation, int slot) {
    return explanation.candidates().get(slot).scores().getFirst().raw();
  }

  @Test
  void occupancy_isTheShareOfKeysAgainstTheShareOfLoad() {
    TestFleet fleet = TestFleet.of(3);
    fleet.inFlight[0] = 4;
    fleet.inFlight[1] = 1;
    cacheLayer.keys(Map.of("w0", 200L, "w1", 50L, "elsewhere", 1_000_000L));

    Explanation explanation = explain("lmcache-occupancy", fleet);

    assertThat(score(explanation, 0)).isCloseTo(0.7, within(1e-12));
    assertThat(score(explanation, 1)).isCloseTo(0.7 * 0.25 + 0.3 * 0.75, within(1e-12));
    assertThat(score(explanation, 2)).isCloseTo(0.3, within(1e-12));
    assertThat(choose("lmcache-occupancy", fleet).worker().id()).isEqualTo("w0");
  }

  @Test
  void occupancy_followsTheFigures() {
    Selector selector = selector("lmcache-occupancy");
    TestFleet fleet = TestFleet.of(2);
    cacheLayer.keys(Map.of("w0", 9L));
    assertThat(((Chosen) selector.select(fleet, prepared("lmcache-occupancy"))).slot()).isZero();

    cacheLayer.keys(Map.of("w1", 9L));
    assertThat(((Chosen) selector.select(fleet, prepared("lmcache-occupancy"))).slot()).isEqualTo(1);
  }

  @Test
  void occupancy_thatIsUnknownEmptyOrTooOld_leavesTheDecisionToPowerOfTwo() {
    TestFleet fleet = TestFleet.of(2);
    assertThat(choose("lmcache-occupancy", fleet).profile()).isEqualTo("power-of-two");

    cacheLayer.keys(Map.of("w0", 0L, "elsewhere", 7L));
    assertThat(choose("lmcache-occupancy", fleet).profile()).isEqualTo("power-of-two");

    cacheLayer.keys = new CacheLayer.KeyCounts(Map.of("w0", 7L), System.nanoTime() - 1, 9);
    assertThat(choose("lmcache-occupancy", fleet).profile()).isEqualTo("power-of-two");
  }

  @Test
  void lookup_weighsTokensByWhereTheyAre_againstLoad() {
    TestFleet fleet = TestFleet.of(4);
    fleet.inFlight[0] = 2;
    cacheLayer.matches(
        new Match("w0", 3000, Tier.HOST),
        new Match("w1", 4000, Tier.DISK),
        new Match("nobody", 4000, Tier.HOST),
        new Match(CacheMatches.ANY_WORKER, 1000, Tier.REMOTE));

    Explanation explanation = explain("lmcache-lookup", fleet);

    assertThat(score(explanation, 0)).isCloseTo(0.7 * 0.75, within(1e-12));
    assertThat(score(explanation, 1)).isCloseTo(0.7 * 0.7 + 0.3, within(1e-12));
    assertThat(score(explanation, 2)).isCloseTo(0.7 * 0.25 * 0.4 + 0.3, within(1e-12));
    assertThat(choose("lmcache-lookup", fleet).worker().id()).isEqualTo("w1");
  }

  @Test
  void lookup_booksOnlyWhatHasToBeComputed() {
    TestFleet fleet = TestFleet.of(2);
    cacheLayer.matches(new Match("w1", 3840, Tier.HOST));

    Chosen chosen = choose("lmcache-lookup", fleet);

    assertThat(chosen.worker().id()).isEqualTo("w1");
    assertThat(chosen.booking().uncachedTokens()).isEqualTo(160);
    assertThat(chosen.predictedCachedTokens()).isEqualTo(3840);

    fleet.alive[1] = false;
    assertThat(choose("lmcache-lookup", fleet).booking().uncachedTokens()).isEqualTo(TOKENS);
  }

  @Test
  void lookup_thatIsNotAnswered_leavesTheDecisionToOccupancy_andThatToPowerOfTwo() {
    TestFleet fleet = TestFleet.of(2);
    assertThat(choose("lmcache-lookup", fleet).reason()).startsWith("power-of-two; ");

    cacheLayer.keys(Map.of("w1", 9L));
    assertThat(choose("lmcache-lookup", fleet).reason()).startsWith("lmcache-occupancy; ");

    cacheLayer.matches();
    assertThat(choose("lmcache-lookup", fleet).reason()).startsWith("lmcache-lookup; ");
  }

  @Test
  void expectedCost_ofWhatIsNearby_isItsTransfer() {
    TestFleet fleet = TestFleet.of(3);
    fleet.depth[0] = 100;
    cacheLayer.matches(new Match("w1", 3840, Tier.HOST), new Match("w2", 3840, Tier.REMOTE));
    var costs = routing.costs.of("h100-Qwen2.5-7B-tp1");

    Explanation explanation = explain("expected-cost-lmcache", fleet);

    assertThat(score(explanation, 0)).isCloseTo(3 * costs.prefillMs(2400, TOKENS), within(1e-9));
    assertThat(score(explanation, 1))
        .isCloseTo(0.5 + 3840 * 0.003 + 3 * costs.prefillMs(160, TOKENS), within(1e-9));
    assertThat(score(explanation, 2))
        .isCloseTo(5 + 3840 * 0.012 + 3 * costs.prefillMs(160, TOKENS), within(1e-9));
    assertThat(choose("expected-cost-lmcache", fleet).worker().id()).isEqualTo("w1");
  }

  @Test
  void expectedCost_ofWhatIsOnTheDeviceToo_countsNoTransferForThat() {
    TestFleet fleet = TestFleet.of(2);
    Arrays.fill(fleet.depth, 200);
    cacheLayer.matches(new Match("w1", 3840, Tier.HOST));
    var costs = routing.costs.of("h100-Qwen2.5-7B-tp1");

    assertThat(score(explain("expected-cost-lmcache", fleet), 1))
        .isCloseTo(0.5 + 640 * 0.003 + 3 * costs.prefillMs(160, TOKENS), within(1e-9));
  }

  @Test
  void expectedCost_ofWhatIsSlowerToLoadThanToCompute_isThatOfComputing() {
    TestFleet fleet = TestFleet.of(1);
    fleet.depth[0] = 240;
    cacheLayer.matches(new Match("w0", 3856, Tier.REMOTE));
    var costs = routing.costs.of("h100-Qwen2.5-7B-tp1");

    assertThat(score(explain("expected-cost-lmcache", fleet), 0))
        .isCloseTo(3 * costs.prefillMs(160, TOKENS), within(1e-9));
    assertThat(choose("expected-cost-lmcache", fleet).booking().uncachedTokens()).isEqualTo(160);
  }

  @Test
  void expectedCost_withoutAnAnswer_isThatOfTheDevices() {
    TestFleet fleet = TestFleet.of(2);
    fleet.depth[1] = 100;

    assertThat(score(explain("expected-cost-lmcache", fleet), 1))
        .isEqualTo(score(explain("expected-cost", fleet), 1));
  }

  @Test
  void expectedCost_ofWhatWasOnceSaidToBeThere_isHalfOfThatHope_asFarAsALookupLeavesItOpen() {
    TestFleet fleet = TestFleet.of(1);
    fleet.hinted.put(0, 240);
    var costs = routing.costs.of("h100-Qwen2.5-7B-tp1");
    double computed = 3 * costs.prefillMs(TOKENS, TOKENS);
    double hoped = 0.5 + 3840 * 0.003 + 3 * costs.prefillMs(160, TOKENS);

    assertThat(score(explain("expected-cost-lmcache", fleet), 0)).isCloseTo((computed + hoped) / 2, within(1e-9));

    cacheLayer.matches();
    assertThat(score(explain("expected-cost-lmcache", fleet), 0)).isCloseTo(computed, within(1e-9));

    cacheLayer.matches(new Match("elsewhere", 4000, Tier.HOST));
    assertThat(score(explain("expected-cost-lmcache", fleet), 0)).isCloseTo((computed + hoped) / 2, within(1e-9));
    assertThat(choose("expected-cost-lmcache", fleet).booking().uncachedTokens()).isEqualTo(TOKENS);
  }

  @ParameterizedTest
  @ValueSource(strings = {"expected-cost-lmcache", "lmcache-lookup"})
  void answers_areComparedWithWhatEventsSay(String profile) {
    TestFleet fleet = TestFleet.of(1);
    fleet.hinted.put(0, 240);
    choose(profile, fleet);
    assertThat(cacheLayer.compared).as("without an answer").isEmpty();

    cacheLayer.matches();
    choose(profile, fleet);
    explain(profile, fleet);
    cacheLayer.matches(new Match("elsewhere", 512, Tier.HOST));
    choose(profile, fleet);

    assertThat(cacheLayer.compared).containsExactly("3840 reported, 0 found", "3840 reported, 512 found");
  }

  @Test
  void matches_crossAsText() {
    CacheMatches matches =
        new CacheMatches(List.of(new Match("pod=a@b#1", 768, Tier.DISK), new Match("*", 1, Tier.REMOTE)));

    assertThat(CacheMatches.decode(matches.encode())).isEqualTo(matches);
    assertThat(CacheMatches.decode("w=1@moon\nw=x@host\n\n=3@host\nw=4@host").matches())
        .containsExactly(new Match("w", 4, Tier.HOST));
    CacheMatches nothing = new CacheMatches(List.of());
    assertThat(nothing).isNotEqualTo(CacheMatches.UNKNOWN);
    assertThat(CacheMatches.decode(nothing.encode())).isEqualTo(nothing);
    assertThat(CacheMatches.decode(CacheMatches.UNKNOWN.encode())).isEqualTo(CacheMatches.UNKNOWN);
  }
}
