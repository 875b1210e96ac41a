package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.routing.ExternalMetrics.CurrentValue;
import io.kvasir.routing.ExternalMetrics.ExternalMetric;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class ExternalMetricsTest {
  private static final long DAY = Duration.ofDays(1).toNanos();
  private static final long MINUTE = Duration.ofMinutes(1).toNanos();

  private final ExternalMetrics metrics = new ExternalMetrics();

  /** Any origin. */
  private long now = Long.MAX_VALUE - DAY;

  private boolean report(String worker, double value) {
    return metrics.report("price", worker, value, now);
  }

  /** All that there is room for. */
  private void fill() {
    int worker = 0;
    while (report("w" + worker, worker)) {
      worker++;
    }
  }

  @Test
  void whatIsOlderThanADay_isDropped_forWhatIsNew() {
    fill();
    now += DAY;
    assertThat(report("w0", 7)).isTrue();
    assertThat(report("new", 1)).as("all are of use still").isFalse();
    now++;

    assertThat(report("new", 1)).isTrue();

    assertThat(metrics.currentValues(now)).containsExactly(
        new CurrentValue("price", "new", 1, 0), new CurrentValue("price", "w0", 7, 1));
    fill();
    assertThat(report("newer", 1)).as("full again").isFalse();
  }

  @Test
  void metricThatWasDropped_isFoundAgain_whenItIsReported() {
    report("w0", 5);
    ExternalMetric metric = metrics.metric("price", "w0");
    assertThat(metric.value(now, MINUTE)).isEqualTo(5);
    fill();
    now += DAY + 1;
    report("new", 1);
    assertThat(metric.value(now, 2 * DAY)).isNaN();

    report("w0", 6);

    assertThat(metric.value(now, MINUTE)).isEqualTo(6);
  }

  @Test
  void metricThatNobodyReports_takesNoPlace() {
    for (int i = 0; i < 20_000; i++) {
      assertThat(metrics.metric("price", "unknown" + i).value(now, MINUTE)).isNaN();
    }

    assertThat(report("w0", 1)).isTrue();
  }

  /** One that nobody reports is read for each decision as well. */
  @Test
  void metricIsLookedUp_onlyWhenOneWasAdded() {
    AtomicInteger lookUps = new AtomicInteger();
    ExternalMetrics counted = new ExternalMetrics(new ConcurrentHashMap<>() {
      @Override
      public ExternalMetrics.Reported get(Object key) {
        lookUps.incrementAndGet();
        return super.get(key);
      }
    });
    ExternalMetric metric = counted.metric("price", "w0");
    for (int i = 0; i < 100; i++) {
      assertThat(metric.value(now, MINUTE)).isNaN();
    }
    assertThat(lookUps).hasValueLessThanOrEqualTo(1);

    counted.report("price", "w1", 3, now);
    counted.report("price", "w0", 5, now);
    lookUps.set(0);
    for (int i = 0; i < 100; i++) {
      assertThat(metric.value(now, MINUTE)).isEqualTo(5);
    }
    assertThat(lookUps).hasValue(1);
  }

  @Test
  void whatNoDecisionUses_isNotShown() {
    report("w0", 1);
    now += DAY + 1;
    report("w1", 2);

    assertThat(metrics.currentValues(now)).extracting(CurrentValue::worker).containsExactly("w1");
  }
}
