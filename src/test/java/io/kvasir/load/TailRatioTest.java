package io.kvasir.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class TailRatioTest {
  @Test
  void fewRequests_showNothing_andManyDo() {
    TailRatio few = TailRatio.of(0.99, upTo(50, 400), upTo(50, 480));
    TailRatio many = TailRatio.of(0.99, upTo(5_000, 400), upTo(5_000, 480));

    assertThat(many.ratio()).isEqualTo(1.2, within(0.01));
    assertThat(many.low()).isLessThan(many.ratio());
    assertThat(many.high()).isGreaterThan(many.ratio());
    assertThat(many.high() - many.low()).isLessThan(few.high() - few.low());
    assertThat(many.verdict(1.3)).isEqualTo("shown");
    assertThat(many.verdict(1.1)).isEqualTo("refuted");
    assertThat(few.verdict(few.ratio())).isEqualTo("neither shown nor refuted");
  }

  @Test
  void sameRequests_areComparedTheSameEachTime() {
    assertThat(TailRatio.of(0.5, upTo(100, 1), upTo(100, 2)))
        .isEqualTo(TailRatio.of(0.5, upTo(100, 1), upTo(100, 2)));
  }

  private static double[] upTo(int count, double most) {
    return IntStream.rangeClosed(1, count).mapToDouble(i -> most * i / count).toArray();
  }
}
