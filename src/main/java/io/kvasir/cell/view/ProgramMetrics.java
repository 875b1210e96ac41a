package io.kvasir.cell.view;

import io.kvasir.programs.ProgramTurn;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;

/** The metrics of programs, of all cells together. Thread-safe. */
final class ProgramMetrics {
  /** From tools that answer at once to people who think. */
  private static final double[] GAP_SECONDS = {0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000};

  private final Histogram gaps;
  private final Counter returnedTokens;
  private final Counter heldTokens;
  private final Counter changes;
  private final Counter releases;

  ProgramMetrics(PrometheusRegistry registry) {
    gaps =
        Histogram.builder()
            .name("kvasir_program_gap_seconds")
            .help("Time between the end of a program's turn and its next one.")
            .classicOnly()
            .classicUpperBounds(GAP_SECONDS)
            .register(registry);
    returnedTokens =
        Counter.builder()
            .name("kvasir_program_returned_tokens_total")
            .help("Prompt tokens of programs' turns after the first.")
            .register(registry);
    heldTokens =
        Counter.builder()
            .name("kvasir_program_held_tokens_total")
            .help("Of the prompt tokens of programs' turns after the first, those that a worker held.")
            .register(registry);
    changes =
        Counter.builder()
            .name("kvasir_program_changes_total")
            .help(
                "Changes of programs by the thrash guard: held (it has to wait), paused (to make room for others),"
                    + " forced (let in since it had waited for the longest time).")
            .labelNames("change")
            .register(registry);
    releases =
        Counter.builder()
            .name("kvasir_program_releases_total")
            .help(
                "Engines that were told that they need not retain what a program has used any more, by whether they"
                    + " agreed: done or failed.")
            .labelNames("result")
            .register(registry);
    releases.initLabelValues("done");
    releases.initLabelValues("failed");
  }

  /** An engine was told that it need not retain what a program has used, and agreed or did not. */
  void released(boolean agreed) {
    releases.labelValues(agreed ? "done" : "failed").inc();
  }

  void returned(ProgramTurn turn, long gapMs) {
    gaps.observe(gapMs / 1e3);
    returnedTokens.inc(turn.promptTokens());
    heldTokens.inc(turn.heldTokens());
  }

  void held() {
    changes.labelValues("held").inc();
  }

  void paused() {
    changes.labelValues("paused").inc();
  }

  void forced() {
    changes.labelValues("forced").inc();
  }
}
