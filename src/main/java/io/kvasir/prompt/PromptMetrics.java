package io.kvasir.prompt;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.Unit;
import java.util.concurrent.TimeUnit;

/** What is counted here. Models are those configured, and one name for all others. */
final class PromptMetrics {
  private final Counter prompts;
  private final Counter tokens;
  private final Counter parity;
  private final Gauge mode;
  private final Histogram seconds;
  private final PrometheusRegistry registry;

  PromptMetrics(Metrics metrics) {
    registry = metrics.registry();
    prompts = Counter.builder()
        .name("kvasir_prompts_total")
        .help("Prompts prepared, by how (mode) and why not otherwise")
        .labelNames("model", "mode", "why")
        .register(registry);
    tokens = Counter.builder()
        .name("kvasir_prompt_tokens_total")
        .help("Tokens of exact and engine prompts: remembered from a prefix, or made")
        .labelNames("model", "source")
        .register(registry);
    parity = Counter.builder()
        .name("kvasir_prompt_parity_checks_total")
        .help("Comparisons of our tokens with the engine's: same, different or unanswered")
        .labelNames("model", "verdict")
        .register(registry);
    mode = Gauge.builder()
        .name("kvasir_prompt_mode")
        .help("1 for the mode in which a model's prompts are prepared now")
        .labelNames("model", "mode")
        .register(registry);
    seconds = Histogram.builder()
        .name("kvasir_prompt_seconds")
        .help("Time to prepare a prompt: the chat template, our tokens and blocks, the engine's answer, text chunks")
        .unit(Unit.SECONDS)
        .labelNames("stage")
        .classicOnly()
        .classicUpperBounds(10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 50e-3, 250e-3, 1)
        .register(registry);
  }

  void memo(PrefixMemo memo) {
    GaugeWithCallback.builder()
        .name("kvasir_prompt_memo_bytes")
        .help("Memory of remembered prompt prefixes")
        .unit(Unit.BYTES)
        .callback(callback -> callback.call((double) memo.bytes()))
        .register(registry);
    GaugeWithCallback.builder()
        .name("kvasir_prompt_memo_steps")
        .help("Remembered pieces of prompt prefixes")
        .callback(callback -> callback.call((double) memo.size()))
        .register(registry);
  }

  void prepared(String model, Prompt prompt) {
    prompts.labelValues(model, prompt.mode().label(), prompt.reason().label()).inc();
  }

  void mode(String model, PromptMode now) {
    for (PromptMode each : PromptMode.values()) {
      if (each != PromptMode.NONE) {
        mode.labelValues(model, each.label()).set(each == now ? 1 : 0);
      }
    }
  }

  void parity(String model, Parity.Verdict verdict) {
    parity.labelValues(model, verdict.label()).inc();
  }

  StageTimer stage(String name) {
    return new StageTimer(seconds.labelValues(name));
  }

  CounterDataPoint tokens(String model, String source) {
    return tokens.labelValues(model, source);
  }

  /** One stage's times. */
  record StageTimer(DistributionDataPoint seconds) {
    private static final double SECOND = TimeUnit.SECONDS.toNanos(1);

    void record(long nanos) {
      seconds.observe(nanos / SECOND);
    }
  }
}
