package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.execution.FakeCells;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What the homes of cells are asked while a node warms up. */
final class HomesWarmUpTest {
  private final FakeCells cells = new FakeCells();

  @Test
  void homes_areAskedForExplanations_onceThereIsAModel_whichBooksNothing() throws Exception {
    try (HomesWarmUp _ = HomesWarmUp.begin(cells, Duration.ofMinutes(1))) {
      assertThat(cells.requests.poll()).as("a request while no model is known").isNull();
      cells.worker("w", URI.create("http://127.0.0.1:1"), "m");
      DecisionRequest first = cells.requests.poll(60, TimeUnit.SECONDS);
      assertThat(first).isNotNull();
      assertThat(first.model()).isEqualTo("m");
      DecisionRequest second = cells.requests.poll(60, TimeUnit.SECONDS);
      assertThat(second.prompt().chain()).isNotEqualTo(first.prompt().chain());
      assertThat(cells.asked).as("decisions").isEmpty();
    }
  }
}
