package io.kvasir.sim;

import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.core.metrics.Info;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/** The engine's own {@code /metrics}, under vLLM's names, one series per rank. Thread-safe. */
final class EngineMetrics {
  static final String CONTENT_TYPE = PrometheusTextFormatWriter.CONTENT_TYPE;

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final String model;
  private final Counter queries;
  private final Counter hits;
  private final Counter prompt;
  private final Counter generated;
  private final Counter preemptions;
  private final Counter successes;
  private final Histogram firstToken;
  private final Info cacheConfig;

  EngineMetrics(String model) {
    this.model = model;
    queries = counter("vllm:prefix_cache_queries", "Prefix cache queries, in terms of number of queried tokens.");
    hits = counter("vllm:prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens.");
    prompt = counter("vllm:prompt_tokens", "Number of prefill tokens processed.");
    generated = counter("vllm:generation_tokens", "Number of generation tokens processed.");
    preemptions = counter("vllm:num_preemptions", "Cumulative number of preemption from the engine.");
    successes =
        Counter.builder()
            .name("vllm:request_success")
            .help("Count of successfully processed requests.")
            .labelNames("model_name", "engine", "finished_reason")
            .register(registry);
    firstToken =
        Histogram.builder()
            .name("vllm:time_to_first_token_seconds")
            .help("Histogram of time to first token in seconds.")
            .labelNames("model_name", "engine")
            .classicOnly()
            .classicUpperBounds(
                0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
                80.0, 160.0, 640.0, 2560.0)
            .register(registry);
    cacheConfig =
        Info.builder()
            .name("vllm:cache_config_info")
            .help("Information of the LLMEngine CacheConfig.")
            .labelNames(
                "block_size", "cache_dtype", "enable_prefix_caching", "engine", "kv_cache_size_tokens",
                "num_gpu_blocks", "prefix_caching_hash_algo")
            .register(registry);
  }

  /** One rank's counters; written by its thread. */
  record OfRank(
      CounterDataPoint queries,
      CounterDataPoint hits,
      CounterDataPoint prompt,
      CounterDataPoint generated,
      CounterDataPoint preemptions,
      DistributionDataPoint firstToken) {}

  OfRank ofRank(int rank) {
    String engine = Integer.toString(rank);
    return new OfRank(
        queries.labelValues(model, engine),
        hits.labelValues(model, engine),
        prompt.labelValues(model, engine),
        generated.labelValues(model, engine),
        preemptions.labelValues(model, engine),
        firstToken.labelValues(model, engine));
  }

  void finished(int rank, Generation.Finish reason) {
    successes.labelValues(model, Integer.toString(rank), reason.name().toLowerCase(Locale.ROOT)).inc();
  }

  /** Shows the ranks' gauges; called once. */
  void show(List<EngineCore> ranks, SimSettings settings) {
    gauge("vllm:num_requests_running", "Number of requests in model execution batches.", ranks, EngineCore::running);
    gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.", ranks, EngineCore::waiting);
    gauge(
        "vllm:kv_cache_usage_perc",
        "KV-cache usage. 1 means 100 percent usage.",
        ranks,
        rank -> rank.usedBlocks() / (double) settings.blocks());
    for (EngineCore rank : ranks) {
      cacheConfig.addLabelValues(
          Integer.toString(settings.blockSize()),
          "auto",
          "True",
          Integer.toString(rank.rank()),
          Long.toString((long) settings.blocks() * settings.blockSize()),
          Integer.toString(settings.blocks()),
          "sha256_cbor");
    }
  }

  byte[] text() {
    ByteArrayOutputStream out = new ByteArrayOutputStream(8192);
    try {
      PrometheusTextFormatWriter.create().write(out, registry.scrape());
    } catch (IOException e) {
      throw new UncheckedIOException("A page in memory cannot fail to be written", e);
    }
    return out.toByteArray();
  }

  private Counter counter(String name, String help) {
    return Counter.builder().name(name).help(help).labelNames("model_name", "engine").register(registry);
  }

  private void gauge(String name, String help, List<EngineCore> ranks, ToDoubleFunction<EngineCore> value) {
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .labelNames("model_name", "engine")
        .callback(gauge ->
            ranks.forEach(rank -> gauge.call(value.applyAsDouble(rank), model, Integer.toString(rank.rank()))))
        .register(registry);
  }
}
