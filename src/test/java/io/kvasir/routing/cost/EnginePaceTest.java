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

  /** A prompt behind so many others of its kind, at a worker whose queue was estimated with what was known of it. */
  private void observe(int worker, double slowness, int before) {
    int tokens = 500 + random.nextInt(12_000);
    double ownMs = TRUE.prefillMs(tokens, tokens);
    double queueMs = before * ownMs * costs.pace(engine(worker));
    costs.observe(
        engine(worker), new PrefillSample(tokens, tokens, queueMs, 20 + slowness * (1 + before) * ownMs));
  }

  private static EngineInstance engine(int worker) {
    return new EngineInstance(DEPLOYMENT, "w" + worker);
  }
}
