package io.kvasir.routing.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigUtil;
import org.junit.jupiter.api.Test;

final class CostModelTest {
  private final CostModel costs = CostModel.bundled();

  @Test
  void prefill_coldPromptOf8192_takesWhatWasMeasured() {
    Config table = ConfigFactory.parseResources(CostModel.class, "engine_coefficients.json");
    assertThat(table.root()).hasSize(12);
    for (String engine : table.root().keySet()) {
      double measured = table.getDouble(ConfigUtil.quoteString(engine) + ".ttft_ms_8192_cold_incl_overhead");

      assertThat(costs.of(engine).prefillMs(8192, 8192)).isCloseTo(measured, within(0.03 * measured));
    }
  }

  @Test
  void prefill_inPieces_costsAsMuchAsAtOnce() {
    EngineCost cost = costs.of("h100-Qwen2.5-7B-tp1");

    double pieces = cost.prefillMs(3000, 3000) + cost.prefillMs(5192, 8192);

    assertThat(pieces).isCloseTo(cost.prefillMs(8192, 8192), within(1e-6));
  }

  @Test
  void of_modelsThatShareARow_areKnownByEitherName() {
    assertThat(costs.of("h200-Qwen3-32B-tp2"))
        .isEqualTo(costs.of("h200-Qwen2.5-32B-tp2"))
        .isEqualTo(costs.of("h200-Qwen2.5-32B/Qwen3-32B-tp2"));
    assertThat(costs.hasCoefficients("h200-Qwen3-32B-tp2")).isTrue();
  }

  @Test
  void of_unknownEngine_isAMiddlingOne() {
    assertThat(costs.hasCoefficients("b300-unheard-of")).isFalse();
    assertThat(costs.of("b300-unheard-of").prefillMs(8192, 8192)).isBetween(180.0, 1570.0);
  }

  @Test
  void engineCost_thatIsFree_isRefused() {
    assertThatThrownBy(() -> new EngineCost(0, 0, 0, 1)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new EngineCost(Double.NaN, 0, 0, 1)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void outputLengths_followWhatIsAnswered() {
    OutputLengths outputs = new OutputLengths();
    assertThat(outputs.expected("m")).isEqualTo(OutputLengths.PRIOR);

    outputs.observe("m", -1);
    assertThat(outputs.expected("m")).isEqualTo(OutputLengths.PRIOR);

    for (int i = 0; i < 1000; i++) {
      outputs.observe("m", i % 2 == 0 ? 900 : 1100);
    }
    assertThat(outputs.expected("m")).isCloseTo(1000, within(20.0));
    assertThat(outputs.expected("other")).isEqualTo(OutputLengths.PRIOR);
  }

  @Test
  void outputLengths_moreModelsThanItKeeps_shareOneMean() {
    OutputLengths outputs = new OutputLengths();
    for (int i = 0; i < 3000; i++) {
      outputs.observe("m" + i, 1000);
      outputs.observe("m" + i, 1000);
    }

    assertThat(outputs.expected("m2999")).isEqualTo(outputs.expected("m2998")).isGreaterThan(990);
    assertThat(outputs.expected("m0")).isLessThan(600);
  }
}
