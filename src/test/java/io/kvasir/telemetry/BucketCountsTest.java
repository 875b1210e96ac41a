package io.kvasir.telemetry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;

final class BucketCountsTest {
  private static final double REST = Double.POSITIVE_INFINITY;

  @Test
  void quantileOfASum_isOfAllValues_andNoMeanOfQuantiles() {
    BucketCounts fast = new BucketCounts(List.of(1.0, 2.0, 4.0, REST), List.of(98.0, 0.0, 0.0, 0.0));
    BucketCounts slow = new BucketCounts(List.of(1.0, 2.0, 4.0, REST), List.of(0.0, 0.0, 2.0, 0.0));

    BucketCounts both = fast.plus(slow);

    assertThat(both.quantile(0.5).getAsDouble()).isCloseTo(50 / 98.0, within(1e-9));
    assertThat(both.quantile(0.99).getAsDouble()).isEqualTo(3);
    assertThat((fast.quantile(0.5).getAsDouble() + slow.quantile(0.5).getAsDouble()) / 2).isGreaterThan(1.5);
  }

  @Test
  void emptyBuckets_canBeLeftOut() {
    BucketCounts all = new BucketCounts(List.of(1.0, 2.0, 4.0, 8.0, REST), List.of(0.0, 0.0, 3.0, 0.0, 0.0));

    BucketCounts trimmed = all.trimmed();

    assertThat(trimmed.upperBounds()).containsExactly(2.0, 4.0);
    for (double rank : new double[] {0, 0.1, 0.5, 0.99, 1}) {
      assertThat(trimmed.quantile(rank)).isEqualTo(all.quantile(rank));
    }
    BucketCounts other = new BucketCounts(List.of(1.0, 2.0, 4.0, 8.0, REST), List.of(5.0, 0.0, 0.0, 1.0, 1.0));
    for (double rank : new double[] {0.1, 0.5, 0.7, 0.85, 0.99}) {
      assertThat(trimmed.plus(other.trimmed()).quantile(rank)).isEqualTo(all.plus(other).quantile(rank));
    }
  }

  @Test
  void withoutValues_thereIsNoQuantile() {
    assertThat(BucketCounts.EMPTY.quantile(0.5)).isEmpty();
    assertThat(new BucketCounts(List.of(1.0, REST), List.of(0.0, 0.0)).trimmed()).isEqualTo(BucketCounts.EMPTY);
  }

  @Test
  void bucketWithoutAnEnd_isTakenAtItsBeginning() {
    assertThat(new BucketCounts(List.of(1.0, REST), List.of(0.0, 7.0)).quantile(0.5)).hasValue(1);
  }

  @Test
  void otherBounds_keepEveryValueWithinItsBucket() {
    BucketCounts one = new BucketCounts(List.of(1.0, 10.0), List.of(0.0, 4.0));
    BucketCounts other = new BucketCounts(List.of(2.0, 20.0), List.of(4.0, 0.0));

    assertThat(one.plus(other).quantile(0.25).getAsDouble()).isBetween(0.0, 2.0);
    assertThat(one.plus(other).quantile(0.75).getAsDouble()).isBetween(1.0, 10.0);
  }

  @Test
  void countsAreOneForEachBucket() {
    assertThatThrownBy(() -> new BucketCounts(List.of(1.0), List.of())).hasMessageContaining("0 counts of 1 buckets");
  }
}
