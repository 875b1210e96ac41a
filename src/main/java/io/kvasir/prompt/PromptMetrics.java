package io.kvasir.prompt;

import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.Unit;
import java.util.concurrent.TimeUnit;

/** The Prometheus metrics of prompts. Model labels are the configured models', and one name for all others. */
final class PromptMetrics {
  private static final String REMEMBERED = "remembered";
  private static final String MADE = "made";

  private final Counter prompts;
  private final Counter tokens;
  private final Counter parity;
  private final Gauge mode;
  private final Gauge engineShapes;
  private final Gauge silentChecks;
  private final Histogram seconds;
  private final PrometheusRegistry registry;
  private final NanoClock clock;

  PromptMetrics(Metrics metrics, NanoClock clock) {
    this.clock = clock;
    registry = metrics.registry();
    prompts = Counter.builder()
        .name("kvasir_prompts_total")
        .help("Prepared prompts, by mode and by the reason for another mode than configured")
        .labelNames("model", "mode", "why")
        .register(registry);
    tokens = Counter.builder()
        .name("kvasir_prompt_tokens_total")
        .help("Tokens of prompts in exact and engine mode: remembered from a cached prefix, or made")
        .labelNames("model", "source")
        .register(registry);
    parity = Counter.builder()
        .name("kvasir_prompt_parity_checks_total")
        .help("Comparisons of our tokens with the engine's: same, different, refused by the engine or unanswered")
        .labelNames("model", "verdict")
        .register(registry);
    mode = Gauge.builder()
        .name("kvasir_prompt_mode")
        .help("1 for the current mode of a model's prompts, else 0; text while an engine that has to tokenise does not"
            + " answer")
        .labelNames("model", "mode")
        .register(registry);
    engineShapes = Gauge.builder()
        .name("kvasir_prompt_engine_shapes")
        .help("Shapes of prompts (tools, documents …) that are tokenised by the engine because our tokens differ;"
            + " all " + PromptShape.COUNT + " when a plain one's do")
        .labelNames("model")
        .register(registry);
    silentChecks = Gauge.builder()
        .name("kvasir_prompt_parity_silent_checks")
        .help("Checks of our tokens against the engine's in a row that had no result: the engine did not answer")
        .labelNames("model")
        .register(registry);
    seconds = Histogram.builder()
        .name("kvasir_prompt_seconds")
        .help("Time to prepare a prompt, by stage: chat template, tokens and blocks, the engine's answer, text chunks")
        .unit(Unit.SECONDS)
        .labelNames("stage")
        .classicOnly()
        .classicUpperBounds(10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 50e-3, 250e-3, 1)
        .register(registry);
  }

  void memo(PrefixMemo memo) {
    GaugeWithCallback.builder()
        .name("kvasir_prompt_memo_bytes")
        .help("Memory of the cache of prompt prefixes")
        .unit(Unit.BYTES)
        .callback(callback -> callback.call((double) memo.bytes()))
        .register(registry);
    GaugeWithCallback.builder()
        .name("kvasir_prompt_memo_steps")
        .help("Cached pieces of prompt prefixes")
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

  void engineShapes(String model, int shapes) {
    engineShapes.labelValues(model).set(shapes);
  }

  void silentChecks(String model, int checks) {
    silentChecks.labelValues(model).set(checks);
  }

  /** Removes all that there is of a model that is not served any more. */
  void forget(String model) {
    for (PromptMode each : PromptMode.values()) {
      mode.remove(model, each.label());
      for (PromptReason reason : PromptReason.values()) {
        prompts.remove(model, each.label(), reason.label());
      }
    }
    for (Parity.Verdict verdict : Parity.Verdict.values()) {
      parity.remove(model, verdict.label());
    }
    tokens.remove(model, REMEMBERED);
    tokens.remove(model, MADE);
    engineShapes.remove(model);
    silentChecks.remove(model);
  }

  StageTimer stage(String name) {
    return new StageTimer(seconds.labelValues(name), clock);
  }

  /** Counts tokens that were in the cache. */
  CounterDataPoint remembered(String model) {
    return tokens.labelValues(model, REMEMBERED);
  }

  /** Counts tokens that were not. */
  CounterDataPoint made(String model) {
    return tokens.labelValues(model, MADE);
  }

  NanoClock clock() {
    return clock;
  }

  /** A timer of one stage: {@link #record} takes the start that {@link #start} has returned. */
  record StageTimer(DistributionDataPoint seconds, NanoClock clock) {
    private static final double SECOND = TimeUnit.SECONDS.toNanos(1);

    long start() {
      return clock.nanos();
    }

    /** Records the time since then; returns it in nanoseconds. */
    long record(long start) {
      long nanos = clock.nanos() - start;
      seconds.observe(nanos / SECOND);
      return nanos;
    }
  }
}
