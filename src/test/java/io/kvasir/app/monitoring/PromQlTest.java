package io.kvasir.app.monitoring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.app.monitoring.PromQl.Selector;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PromQlTest {
  private static final PromQl RATIO =
      new PromQl("sum by (a, le) (rate(kvasir_x_bucket{b=~\"{c=1}\", d!=\"e\"}[5m])) / on (f) kvasir:y:rate5m");

  @Test
  void selectors_areMetricsWithTheirLabels_whateverStringsSay() {
    assertThat(RATIO.selectors()).containsExactly(
        new Selector("kvasir_x_bucket", List.of("b", "d")), new Selector("kvasir:y:rate5m", List.of()));
  }

  @Test
  void groupings_haveWhatTheyGroup() {
    assertThat(RATIO.groupings())
        .extracting(each -> each.keyword() + each.labels() + " " + each.of().selectors().size())
        .containsExactly("by[a, le] 1", "on[f] 2");
    assertThatThrownBy(() -> new PromQl("sum(kvasir_x) by (a)").groupings()).hasMessageContaining("in front");
  }

  @Test
  void restricted_addsMatchersToEachMetric() {
    assertThat(RATIO.restricted(metric -> "m=\"" + metric.length() + "\"")).isEqualTo(
        "sum by (a, le) (rate(kvasir_x_bucket{b=~\"{c=1}\", d!=\"e\", m=\"15\"}[5m]))"
            + " / on (f) kvasir:y:rate5m{m=\"15\"}");
  }
}
