package io.kvasir.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

final class ElasticFleetTest {
  private static final String SETTINGS = "startup=60,settle=600,least=1,start=2";

  /** Three hours as a day: from a lull to a peak of several engines and back. */
  private static final TraceSource DAY =
      Generators.parse("gen:day?hours=3&low=0.3&high=2&prompt=16000&groups=20&output=20&block=512");

  @Test
  void fleet_followsTheDay() {
    RunReport constant = TestTraces.elastic(DAY, 8, "off");
    RunReport elastic = TestTraces.elastic(DAY, 8, SETTINGS);

    assertThat(constant.engines().hours()).isCloseTo(24, within(0.1));
    assertThat(constant.engines().changes()).isZero();
    assertThat(elastic.goodput()).isGreaterThan(0.92);
    assertThat(elastic.engines().hours()).isLessThan(0.75 * constant.engines().hours());
    assertThat(elastic.engines().fewest()).isLessThan(elastic.engines().most());
    assertThat(elastic.engines().turns()).as("up, and down").isLessThanOrEqualTo(2);
  }

  @Test
  void run_isTheSameAgain() {
    assertThat(TestTraces.elastic(DAY, 4, SETTINGS)).isEqualTo(TestTraces.elastic(DAY, 4, SETTINGS));
  }

  @Test
  void constantLoad_changesNothingOnceSettled() {
    RunReport report =
        TestTraces.elastic(
            Generators.parse("gen:day?hours=2&low=0.5&high=0.5&prompt=16000&groups=20&output=20&block=512"), 8,
            SETTINGS);
    assertThat(report.engines().turns()).isZero();
    assertThat(report.engines().changes()).isLessThanOrEqualTo(2);
  }

  @Test
  void choice_isReadAsWritten() {
    assertThat(ElasticChoice.parse("off").settings()).isNull();
    assertThat(ElasticChoice.parse("startup=60,share=0.5,start=3").settings())
        .isEqualTo(new ElasticChoice.Settings(60, 600, 0.5, 1, 3));
    for (String wrong : new String[] {"sometimes", "startup", "startup=long", "least=0", "share=2", "size=3"}) {
      assertThatThrownBy(() -> ElasticChoice.parse(wrong))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("must be off, on, or settings");
    }
  }
}
