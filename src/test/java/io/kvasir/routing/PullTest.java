package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.routing.KvTransfer.Dialect;
import io.kvasir.routing.Selection.Chosen;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Workers that pull from each other what costs less than to compute. Worker 0 has most of the prompt. */
final class PullTest {
  private static final int BLOCKS = 500;
  private static final int TOKENS = BLOCKS * 16 + 5;
  private static final int HELD = 480;

  private final Routing routing = new Routing(42);
  private TestFleet fleet = new TestFleet();

  @BeforeEach
  void peers() {
    fleet =
        new TestFleet(
            TestFleet.worker(0, Role.BOTH, Dialect.VLLM_P2P, "", 4),
            TestFleet.worker(1, Role.BOTH, Dialect.VLLM_P2P, "", 4),
            TestFleet.worker(2, Role.BOTH, Dialect.VLLM_P2P, "elsewhere", 4));
    fleet.depth[0] = HELD;
  }

  private Chosen select(String profile) {
    return (Chosen) routing.selector(profile).select(fleet, Routing.request(BLOCKS, 16, TOKENS));
  }

  @Test
  void idleWorker_keepsItsPrompt() {
    Chosen chosen = select("expected-cost");
    assertThat(chosen.slot()).isZero();
    assertThat(chosen.pull()).isNull();
  }

  @Test
  void busyWorker_isPulledFrom_byOneOfItsGroup() {
    fleet.queueMs[0] = 2_000;

    Chosen chosen = select("expected-cost");

    assertThat(chosen.slot()).isEqualTo(1);
    assertThat(chosen.depth()).isZero();
    assertThat(chosen.pull()).isEqualTo(new KvPull("w0", "h0", 8998, HELD * 16));
    assertThat(chosen.step(RoutingPlan.WHOLE).pull()).isEqualTo(chosen.pull());
    assertThat(chosen.booking().uncachedTokens()).isEqualTo(TOKENS - HELD * 16);
    assertThat(chosen.predictedCachedTokens()).isEqualTo(HELD * 16);
    assertThat(chosen.reason()).contains("; pull=7680@w0");
  }

  @Test
  void fullWorker_isPulledFrom_whichTheFilterHasTakenAway() {
    fleet.inFlight[0] = 4;
    assertThat(select("expected-cost").pull()).isEqualTo(new KvPull("w0", "h0", 8998, HELD * 16));
  }

  @Test
  void otherProfiles_pullToWhoeverIsChosen() {
    fleet.inFlight[0] = 3;
    fleet.inFlight[2] = 3;
    assertThat(select("least-loaded").pull()).isEqualTo(new KvPull("w0", "h0", 8998, HELD * 16));
  }

  @Test
  void whatIsOnlyPredicted_isNotPulled() {
    fleet.queueMs[0] = 2_000;
    fleet.reported.put(0, 100);
    assertThat(select("expected-cost").pull()).isEqualTo(new KvPull("w0", "h0", 8998, 1600));
    fleet.reported.put(0, 0);
    assertThat(select("expected-cost").pull()).isNull();
  }

  @Test
  void workerThatWasJustSentThePrompt_isPassedOver_forOneThatHasIt() {
    fleet =
        new TestFleet(
            TestFleet.worker(0, Role.BOTH, Dialect.VLLM_P2P, "", 4),
            TestFleet.worker(1, Role.BOTH, Dialect.VLLM_P2P, "", 4),
            TestFleet.worker(2, Role.BOTH, Dialect.VLLM_P2P, "", 4));
    fleet.depth[0] = HELD;
    fleet.depth[1] = 300;
    fleet.queueMs[0] = 5_000;
    fleet.queueMs[1] = 5_000;
    fleet.reported.put(0, 0);
    assertThat(select("expected-cost").pull()).isEqualTo(new KvPull("w1", "h1", 8998, 4_800));
  }

  @Test
  void whatCostsMoreThanToCompute_isNotPulled() {
    fleet.queueMs[0] = 2_000;
    fleet.depth[0] = 2;
    Chosen chosen = select("expected-cost");
    assertThat(chosen.slot()).isNotZero();
    assertThat(chosen.pull()).isNull();
  }

  @Test
  void whatWasNotFoundLately_isNotPulled() {
    fleet.queueMs[0] = 2_000;
    fleet.pullYields.put(0, 0.02);
    assertThat(select("expected-cost").pull()).isNull();
  }

  @Test
  void workerThatHasFailedTheRequest_isNotPulledFrom() {
    RoutingContext context =
        new RoutingContext("r", "m", Role.BOTH, Set.of("w0"))
            .put(Slots.PROMPT_TOKENS, TOKENS)
            .put(Slots.CHAIN, Routing.request(BLOCKS, 16, TOKENS).get(Slots.CHAIN));
    Chosen chosen = (Chosen) routing.selector("expected-cost").select(fleet, context);
    assertThat(chosen.slot()).isNotZero();
    assertThat(chosen.pull()).isNull();
  }

  @Test
  void requestOfSeveralAnswers_pullsNothing() {
    fleet.inFlight[0] = 4;
    RoutingContext context =
        Routing.request(BLOCKS, 16, TOKENS).put(Slots.REQUEST_SHAPE, RequestShape.INDIVISIBLE);
    assertThat(((Chosen) routing.selector("expected-cost").select(fleet, context)).pull()).isNull();
  }

  @Test
  void rank_hasAPortOfItsOwn() {
    Worker of = TestFleet.worker(0, Role.BOTH, Dialect.VLLM_P2P, "", 4);
    Worker third =
        new Worker(
            "p#2", "p", of.url(), 2, 4, 0, of.role(), of.models(), of.labels(), 4, of.engine(), of.kvTransfer());
    fleet = new TestFleet(third, TestFleet.worker(1, Role.BOTH, Dialect.VLLM_P2P, "", 4));
    fleet.depth[0] = HELD;
    fleet.inFlight[0] = 4;
    assertThat(select("expected-cost").pull()).isEqualTo(new KvPull("p#2", "h0", 9000, HELD * 16));
  }
}
