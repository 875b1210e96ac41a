package io.kvasir.app.command;

import io.kvasir.app.node.Node;
import io.kvasir.app.terminal.StatusLine;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The demo's one line: requests, hit rate, workers. */
final class DemoStatus {
  private final Node node;
  private final int workers;

  DemoStatus(Node node, int workers) {
    this.node = node;
    this.workers = workers;
  }

  void showUntil(CountDownLatch stop) throws InterruptedException {
    try (StatusLine line = new StatusLine()) {
      do {
        show(line);
      } while (!stop.await(1, TimeUnit.SECONDS));
    }
  }

  private void show(StatusLine line) {
    double prompt = total("kvasir_usage_prompt_tokens", "");
    double cached = total("kvasir_cached_tokens", "actual");
    line.show(
        "requests %.0f   hit rate %.0f %%"
            .formatted(total("kvasir_requests", ""), prompt == 0 ? 0 : 100 * cached / prompt),
        "workers %d/%d".formatted(DemoCommand.healthy(node), workers));
  }

  /** Sum of a counter over the series that carry {@code label} as some value, or over all. */
  private double total(String counter, String label) {
    return node.metrics().registry().scrape(counter::equals).stream()
        .filter(CounterSnapshot.class::isInstance)
        .flatMap(snapshot -> ((CounterSnapshot) snapshot).getDataPoints().stream())
        .filter(point -> label.isEmpty() || point.getLabels().stream().anyMatch(at -> at.getValue().equals(label)))
        .mapToDouble(CounterSnapshot.CounterDataPointSnapshot::getValue)
        .sum();
  }
}
