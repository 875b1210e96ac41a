package io.kvasir.app.command;

import io.kvasir.app.node.Node;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import java.io.Console;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The demo's one line: requests, hit rate, workers. On a terminal it stays in place. */
final class DemoStatus {
  private final Node node;
  private final int workers;
  private final boolean terminal = onTerminal();
  private String last = "";

  DemoStatus(Node node, int workers) {
    this.node = node;
    this.workers = workers;
  }

  void showUntil(CountDownLatch stop) throws InterruptedException {
    do {
      show();
    } while (!stop.await(1, TimeUnit.SECONDS));
    if (terminal) {
      System.out.println();
    }
  }

  @SuppressWarnings("SystemConsoleNull") // it is declared nullable, and NullAway believes the declaration
  private static boolean onTerminal() {
    Console console = System.console();
    return console != null && console.isTerminal();
  }

  private void show() {
    double prompt = total("kvasir_usage_prompt_tokens", "");
    double cached = total("kvasir_cached_tokens", "actual");
    String line =
        "requests %.0f   hit rate %.0f %%   workers %d/%d"
            .formatted(
                total("kvasir_requests", ""),
                prompt == 0 ? 0 : 100 * cached / prompt,
                DemoCommand.healthy(node),
                workers);
    if (terminal) {
      System.out.print("\r" + line + "   ");
      System.out.flush();
    } else if (!line.equals(last)) {
      System.out.println(line);
    }
    last = line;
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
