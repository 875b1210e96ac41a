package io.kvasir.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.load.IndexSoak;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The soak of {@code load-tests}, a small part of it. */
final class IndexSoakTest {
  @ParameterizedTest
  @ValueSource(ints = {64, 128, 256})
  void index_underChurn_answersTruly_andDoesNotGrow(int slots) throws InterruptedException {
    IndexSoak.Report report =
        IndexSoak.run(new IndexSoak.Size(slots, 7, 64, 300, 2, 2, 400_000), _ -> {});
    assertThat(report.answers() - report.open()).isPositive();
  }
}
