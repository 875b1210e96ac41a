package io.kvasir.routing.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class EnginePaceTest {
  private static final Deployment DEPLOYMENT = new Deployment("h100-Llama-3.1-8B-tp1", "m");
  private static final EngineCost TRUE = CostModel.bundled().of(DEPLOYMENT.engine());

  private final CostModel costs = CostModel.bundled();
  private final SplittableRandom random = new SplittableRandom(7);

  @Test
  void pace_anEngineTwiceAsSlow_isFoundAndTheOthersStayWhatTheyAre() {
    for (int i = 0; i < 100; i++) {
      for (int worker = 0; worker < 8; worker++) {
        observe(worker, worker == 3 ? 2 : 1, 0);
      }
    }

    assertThat(costs.pace(engine(3))).isCloseTo(2, within(0.2));
    for (int worker = 0; worker < 8; worker++) {
      double slowness = worker == 3 ? 2 : 1;
      assertThat(costs.of(engine(worker)).prefillMs(8192, 8192) / TRUE.prefillMs(8192, 8192))
          .isCloseTo(slowness, within(0.1 * slowness));
    }
    FleetCosts fleet = costs.of(List.of(engine(0), engine(3)));
    assertThat(fleet.prefillMs(1, 4000, 4000)).isCloseTo(2 * fleet.prefillMs(0, 4000, 4000), within(200.0));
  }

  @Test
  void pace_ofQueuesThatWereEstimatedWithIt_isNotLearntTwice() {
    for (int i = 0; i < 200; i++) {
      for (int worker = 0; worker < 8; worker++) {
        observe(worker, worker == 3 ? 2 : 1, random.nextInt(3));
      }
    }

    assertThat(costs.pace(engine(3))).isCloseTo(2, within(0.2));
  }

  @Test
  void pace_enginesThatDifferByChanceAndHangs_areAlike() {
    for (int i = 0; i < 200; i++) {
      for (int worker = 0; worker < 8; worker++) {
        observe(worker, random.nextInt(10) == 0 ? 30 : 0.8 + 0.4 * random.nextDouble(), 0);
      }
    }

    for (int worker = 0; worker < 8; worker++) {
      assertThat(costs.pace(engine(worker))).isOne();
    }
  }

  @Test
  void pace_afterAnEngineIsMended_isThatOfTheOthersAgain() {
    for (int i = 0; i < 200; i++) {
      for (int worker = 0; worker < 4; worker++) {
        observe(worker, worker == 0 && i < 100 ? 3 : 1, 0);
      }
    }

    assertThat(costs.pace(engine(0))).isOne();
  }

  @Test
  void pace_threeKindsWithPromptsOfOtherLengthsAndFixedParts_areFoundWithin60PromptsEach() {
    double[] slowness = {1, 1, 1, 1.4, 1.4, 2.3, 2.3, 4.6};
    for (int i = 0; i < 60; i++) {
      for (int worker = 0; worker < 8; worker++) {
        // Slow engines are sent short prompts, of which their fixed part is much.
        int most = slowness[worker] > 2 ? 3_000 : 20_000;
        double fixedMs = slowness[worker] == 1.4 ? 5 : 20 * slowness[worker];
        observe(worker, slowness[worker], 300 + random.nextInt(most), 0, fixedMs);
      }
    }

    assertFound(slowness, 0.1);
  }

  @Test
  void pace_anEngineThatIsSeldomUsed_isFoundThoughTheOthersCostsWereLearntMeanwhile() {
    EngineInstance unnamed = new EngineInstance(new Deployment("unheard-of", "m"), "seldom");
    for (int i = 0; i < 600; i++) {
      for (int worker = 0; worker < 4; worker++) {
        EngineInstance often = new EngineInstance(unnamed.deployment(), "often" + worker);
        costs.observe(often, prompt(often, 1, 500 + random.nextInt(8_000), 0, 20));
      }
      if (i % 40 == 0) {
        costs.observe(unnamed, prompt(unnamed, 3, 500 + random.nextInt(8_000), 0, 60));
      }
    }

    assertThat(costs.of(unnamed).prefillMs(8192, 8192) / TRUE.prefillMs(8192, 8192)).isCloseTo(3, within(0.3));
  }

  @Test
  void pace_ofAlikeEnginesWhosePromptsAreAllButCached_isOne() {
    for (int i = 0; i < 300; i++) {
      for (int worker = 0; worker < 8; worker++) {
        // What is decoded beside it takes far longer than such a prompt, and not the same everywhere.
        observe(worker, 1, 16, 0, 50 + 4 * worker + random.nextInt(10));
      }
    }

    for (int worker = 0; worker < 8; worker++) {
      assertThat(costs.pace(engine(worker))).isOne();
    }
  }

  @Test
  void pace_oneInTenHangs_isFoundAllTheSame() {
    double[] slowness = {1, 1, 1, 1, 1, 1, 1, 2};
    for (int i = 0; i < 100; i++) {
      for (int worker = 0; worker < 8; worker++) {
        double hangs = random.nextInt(10) == 0 ? 500 / Math.sqrt(1 - random.nextDouble()) : 0;
        observe(worker, slowness[worker], 500 + random.nextInt(12_000), 0, 20 + hangs);
      }
    }

    assertFound(slowness, 0.1);
  }

  private void assertFound(double[] slowness, double error) {
    for (int worker = 0; worker < slowness.length; worker++) {
      double truth = slowness[worker] / slowness[0];
      assertThat(costs.of(engine(worker)).prefillMs(8192, 8192) / costs.of(engine(0)).prefillMs(8192, 8192))
          .as("worker %d", worker)
          .isCloseTo(truth, within(error * truth));
    }
  }

  @Test
  void forget_leavesAnEngineLikeTheOthers() {
    for (int i = 0; i < 100; i++) {
      for (int worker = 0; worker < 4; worker++) {
        observe(worker, worker == 0 ? 3 : 1, 0);
      }
    }
    costs.forget(engine(0));

    assertThat(costs.pace(engine(0))).isOne();
  }

  @Test
  void assume_oneEngine_isItsAlone() {
    costs.assume(engine(1), 0.5, 0.001);

    assertThat(costs.of(engine(1)).msPerToken()).isEqualTo(0.5);
    assertThat(costs.of(engine(2))).isEqualTo(TRUE);
  }

  /** A prompt behind so many others of its kind. */
  private void observe(int worker, double slowness, int before) {
    observe(worker, slowness, 500 + random.nextInt(12_000), before, 20);
  }

  private void observe(int worker, double slowness, int tokens, int before, double fixedMs) {
    costs.observe(engine(worker), prompt(engine(worker), slowness, tokens, before, fixedMs));
  }

  /** The queue is estimated with what is known of the engine. */
  private PrefillSample prompt(EngineInstance engine, double slowness, int tokens, int before, double fixedMs) {
    double ownMs = TRUE.prefillMs(tokens, tokens);
    double queueMs = before * ownMs * costs.pace(engine);
    return new PrefillSample(tokens, tokens, queueMs, fixedMs + slowness * (1 + before) * ownMs);
  }

  private static EngineInstance engine(int worker) {
    return new EngineInstance(DEPLOYMENT, "w" + worker);
  }
}
