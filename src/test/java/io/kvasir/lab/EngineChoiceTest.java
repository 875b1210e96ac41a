package io.kvasir.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.SplittableRandom;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;

final class EngineChoiceTest {
  private static final String H100 = "h100-Llama-3.1-8B-tp1";
  private static final String A100 = "a100-Llama-3.1-8B-tp1";

  @Test
  void parse_oneName_isEveryWorkers() {
    EngineChoice engines = EngineChoice.parse(H100, 3);

    assertThat(engines.engines()).hasSize(3).allMatch(engine -> engine.model().name().equals(H100));
    assertThat(engines.isUniform()).isTrue();
  }

  @Test
  void parse_several_areInTheirOrderWithTheirSlowness() {
    EngineChoice engines = EngineChoice.parse("2*" + H100 + ", 1*" + A100 + "," + H100 + "/2.5", 4);

    assertThat(engines.engines()).extracting(engine -> engine.model().name()).containsExactly(H100, H100, A100, H100);
    assertThat(engines.engines()).extracting(EngineChoice.Each::slowness).containsExactly(1.0, 1.0, 1.0, 2.5);
    assertThat(engines.isUniform()).isFalse();
    assertThat(engines.kvTokens()).isEqualTo(4L * engines.first().kvTokens());
  }

  @Test
  void parse_whatIsNoChoice_saysWhatToGive() {
    assertThatThrownBy(() -> EngineChoice.parse("2*" + H100, 3)).hasMessageContaining("3 workers and 2 engines");
    assertThatThrownBy(() -> EngineChoice.parse(H100 + "/0", 1)).hasMessageContaining("more than 0 times");
    assertThatThrownBy(() -> EngineChoice.parse("abacus", 1)).hasMessageContaining("'abacus' is not one of");
    assertThatThrownBy(() -> EngineChoice.parse(H100 + "/x", 1)).hasMessageContaining("has to be a model");
  }

  @Test
  void stalls_haveTheirRateAndMeanAndALongTail() {
    StallChoice stalls = StallChoice.parse("6:400");
    SplittableRandom random = new SplittableRandom(1);

    assertThat(DoubleStream.generate(() -> stalls.gapMs(random)).limit(50_000).average().orElseThrow())
        .isBetween(9_800.0, 10_200.0);
    double[] lengths = DoubleStream.generate(() -> stalls.lengthMs(random)).limit(200_000).sorted().toArray();
    assertThat(DoubleStream.of(lengths).average().orElseThrow()).isBetween(360.0, 420.0);
    assertThat(lengths[100_000]).as("half are short").isLessThan(250);
    assertThat(lengths[198_000]).as("a hundredth is long").isGreaterThan(2_500);
    assertThat(StallChoice.OFF.gapMs(random)).isInfinite();
    assertThatThrownBy(() -> StallChoice.parse("6")).hasMessageContaining("4:500");
  }
}
