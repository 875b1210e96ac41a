package io.kvasir.routing.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Engines whose true coefficients are far from those the fit begins with. */
final class CostFitTest {
  private static final Deployment DEPLOYMENT = new Deployment("h100-Llama-3.1-8B-tp1", "m");
  private static final EngineInstance ENGINE = new EngineInstance(DEPLOYMENT, "w0");
  private static final EngineCost START = CostModel.bundled().of(DEPLOYMENT.engine());

  private final CostModel costs = CostModel.bundled();
  private final SplittableRandom random = new SplittableRandom(7);

  @ParameterizedTest
  @ValueSource(doubles = {0.2, 0.3, 3, 10})
  void observe_engineFarFromItsName_isLearntWithinAHundredPrompts(double factor) {
    Engine engine = new Engine(START.prefillScaled(factor), 25);

    for (int i = 0; i < 100; i++) {
      costs.observe(ENGINE, engine.prompt(8000));
    }

    double truth = engine.cost.prefillMs(8000, 8000);
    assertThat(costs.of(DEPLOYMENT).prefillMs(8000, 8000)).isCloseTo(truth, within(0.2 * truth));
  }

  @Test
  void observe_fixedPartOfShortPrompts_isNotTakenForTheirTokens() {
    Engine engine = new Engine(START, 120);

    for (int i = 0; i < 300; i++) {
      costs.observe(ENGINE, engine.prompt(i % 2 == 0 ? 64 : 6000));
    }

    double truth = START.prefillMs(6000, 6000);
    assertThat(costs.of(DEPLOYMENT).prefillMs(6000, 6000)).isCloseTo(truth, within(0.1 * truth));
    assertThat(learnt().fixedMs()).isCloseTo(120, within(15.0));
  }

  @Test
  void observe_promptsOfManyLengths_tellTokensFromPairs() {
    EngineCost slowInAttention =
        new EngineCost(START.msPerToken(), 4 * START.msPerPair(), START.msPerContextToken(), START.kvTokens());
    Engine engine = new Engine(slowInAttention, 20);

    for (int i = 0; i < 1500; i++) {
      costs.observe(ENGINE, engine.prompt(i % 3 == 0 ? 2000 : i % 3 == 1 ? 30_000 : 100_000));
    }

    EngineCost learnt = costs.of(DEPLOYMENT);
    assertThat(learnt.msPerToken() / START.msPerToken()).isCloseTo(1, within(0.25));
    assertThat(learnt.msPerPair() / START.msPerPair()).isCloseTo(4, within(0.4));
  }

  @Test
  void observe_oneInTenHangs_movesItLittle() {
    Engine engine = new Engine(START.prefillScaled(2), 20);

    for (int i = 0; i < 1000; i++) {
      PrefillSample prompt = engine.prompt(6000);
      costs.observe(
          ENGINE,
          i % 10 != 9 ? prompt : new PrefillSample(prompt.promptTokens(), prompt.uncachedTokens(), 0, 600_000));
    }

    double truth = engine.cost.prefillMs(6000, 6000);
    assertThat(costs.of(DEPLOYMENT).prefillMs(6000, 6000)).isCloseTo(truth, within(0.15 * truth));
  }

  /** Of a fleet that has just started: compilers and first connections make all of its first answers late. */
  @Test
  void observe_firstPromptsFarTooLate_doNotMakeAKnownEngineDear() {
    EngineInstance engine = new EngineInstance(new Deployment("a100-Qwen2.5-14B-tp1", "m"), "w0");
    double truth = costs.of(engine).prefillMs(490, 490);
    double[][] queueAndTtftMs = {
      {0, 926}, {48, 374}, {97, 384}, {0, 166}, {100, 277}, {48, 381}, {0, 173}, {50, 253}, {99, 257}, {48, 333},
      {97, 321}, {99, 324}, {98, 95}, {50, 111}, {50, 218}, {98, 205}, {48, 289}, {99, 290}, {98, 291}, {51, 129}
    };
    for (double[] one : queueAndTtftMs) {
      costs.observe(engine, new PrefillSample(490, 490, one[0], one[1]));

      assertThat(costs.of(engine).prefillMs(490, 490)).isLessThan(1.5 * truth);
    }
  }

  @Test
  void observe_promptsBehindOthers_sayAsMuchAsTheirOwnShare() {
    Engine engine = new Engine(START, 20);
    for (int i = 0; i < 300; i++) {
      costs.observe(ENGINE, engine.prompt(6000));
    }

    // The queue's estimate was twice what there was to wait for: nine tenths of all time was in it.
    for (int i = 0; i < 300; i++) {
      PrefillSample idle = engine.prompt(6000);
      double queueMs = 9 * START.prefillMs(6000, 6000);
      costs.observe(
          ENGINE, new PrefillSample(idle.promptTokens(), idle.uncachedTokens(), queueMs,
              idle.ttftMs() + queueMs / 2));
    }

    double truth = START.prefillMs(6000, 6000);
    assertThat(costs.of(DEPLOYMENT).prefillMs(6000, 6000)).isCloseTo(truth, within(0.15 * truth));
  }

  @Test
  void observe_engineReplacedByAFasterOne_isForgotten() {
    Engine before = new Engine(START.prefillScaled(4), 20);
    Engine after = new Engine(START.prefillScaled(0.5), 20);
    for (int i = 0; i < 2000; i++) {
      costs.observe(ENGINE, before.prompt(6000));
    }

    for (int i = 0; i < 2000; i++) {
      costs.observe(ENGINE, after.prompt(6000));
    }

    double truth = after.cost.prefillMs(6000, 6000);
    assertThat(costs.of(DEPLOYMENT).prefillMs(6000, 6000)).isCloseTo(truth, within(0.15 * truth));
  }

  @Test
  void observe_nonsense_staysWithinBounds() {
    for (int i = 0; i < 5000; i++) {
      costs.observe(ENGINE, new PrefillSample(8000, 8000, 0, i % 2 == 0 ? 3_600_000 : 1e-9));
      costs.observe(ENGINE, new PrefillSample(1, 1, 0, 3_600_000));
    }

    EngineCost learnt = costs.of(DEPLOYMENT);
    assertThat(learnt.msPerToken() / START.msPerToken()).isBetween(1 / 16.0, 16.0);
    assertThat(learnt.msPerPair() / START.msPerPair()).isBetween(1 / 16.0, 16.0);
    assertThat(learnt().fixedMs()).isBetween(0.0, 1000.0);
    assertThat(learnt().error()).isBetween(0.0, 10.0);
  }

  @Test
  void observe_whatCannotBeTrue_isLeftOut() {
    costs.observe(ENGINE, new PrefillSample(100, 0, 0, 10));
    costs.observe(ENGINE, new PrefillSample(100, 101, 0, 10));
    costs.observe(ENGINE, new PrefillSample(100, 50, -1, 10));
    costs.observe(ENGINE, new PrefillSample(100, 50, 0, 0));
    costs.observe(ENGINE, new PrefillSample(100, 50, Double.NaN, 10));
    costs.observe(ENGINE, new PrefillSample(100, 50, 0, Double.POSITIVE_INFINITY));

    assertThat(learnt().samples()).isZero();
    assertThat(costs.of(DEPLOYMENT)).isEqualTo(START);
  }

  @Test
  void observe_oneDeployment_leavesOthersAsTheyWere() {
    Engine engine = new Engine(START.prefillScaled(5), 20);
    for (int i = 0; i < 100; i++) {
      costs.observe(ENGINE, engine.prompt(6000));
    }

    assertThat(costs.of(new Deployment(DEPLOYMENT.engine(), "another"))).isEqualTo(START);
    assertThat(costs.of(new Deployment("b300-unheard-of", "m"))).isEqualTo(costs.of("b300-unheard-of"));
  }

  @Test
  void version_whatIsLearntAlready_doesNotChangeIt() {
    Engine engine = new Engine(START, 20);
    for (int i = 0; i < 500; i++) {
      costs.observe(ENGINE, engine.prompt(6000));
    }
    long settled = costs.version();

    for (int i = 0; i < 200; i++) {
      costs.observe(ENGINE, engine.prompt(6000));
    }

    assertThat(costs.version() - settled).isLessThan(10);
    assertThat(learnt().error()).isLessThan(0.15);
  }

  @Test
  void observe_manyThreads_countsEveryPrompt() throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      var all = IntStream.range(0, 4).<Callable<Boolean>>mapToObj(thread -> () -> {
        for (int i = 0; i < 2000; i++) {
          costs.observe(ENGINE, new PrefillSample(4000, 4000, 0, 2 * START.prefillMs(4000, 4000) + 20));
        }
        return true;
      }).toList();
      for (var done : threads.invokeAll(all)) {
        assertThat(done.get()).isTrue();
      }
    }

    double truth = 2 * START.prefillMs(4000, 4000);
    // Prompts that are all the same say little of which part of their times is fixed.
    assertThat(learnt().samples()).isEqualTo(8000);
    assertThat(costs.of(DEPLOYMENT).prefillMs(4000, 4000)).isCloseTo(truth, within(0.1 * truth));
  }

  private LearntCost learnt() {
    return Objects.requireNonNull(costs.learnt().get(DEPLOYMENT));
  }

  /** Answers prompts alone, a tenth sooner or later than it should. */
  private final class Engine {
    private final EngineCost cost;
    private final double fixedMs;

    Engine(EngineCost cost, double fixedMs) {
      this.cost = cost;
      this.fixedMs = fixedMs;
    }

    /** A prompt of which something between nothing and nine tenths is cached. */
    PrefillSample prompt(int most) {
      int tokens = random.nextInt(most / 2, most) + 1;
      int uncached = Math.max(1, (int) (tokens * random.nextDouble(0.1, 1)));
      double ttftMs = (fixedMs + cost.prefillMs(uncached, tokens)) * random.nextDouble(0.9, 1.1);
      return new PrefillSample(tokens, uncached, 0, ttftMs);
    }
  }
}
