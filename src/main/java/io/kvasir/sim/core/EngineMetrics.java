package io.kvasir.sim.core;

import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.transfer.TransferAgent;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.core.metrics.Info;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.ToDoubleFunction;

/** The engine's own {@code /metrics}, under vLLM's or SGLang's names, one series per rank. Thread-safe. */
public final class EngineMetrics {
  public static final String CONTENT_TYPE = PrometheusTextFormatWriter.CONTENT_TYPE;

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final String model;
  private final Names names;
  private final Counter queries;
  private final Counter hits;
  private final Counter externalQueries;
  private final Counter externalHits;
  private final Counter prompt;
  private final Counter generated;
  private final Counter preemptions;
  private final Counter successes;
  private final Histogram firstToken;

  /** The names that an engine family gives its series. */
  private enum Names {
    VLLM("vllm:", "engine", "num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"),
    SGLANG("sglang:", "dp_rank", "num_running_reqs", "num_queue_reqs", "token_usage");

    private final String prefix;
    private final String rank;
    private final String running;
    private final String waiting;
    private final String usage;

    Names(String prefix, String rank, String running, String waiting, String usage) {
      this.prefix = prefix;
      this.rank = rank;
      this.running = running;
      this.waiting = waiting;
      this.usage = usage;
    }
  }

  /** Metrics of a model, under the names of an engine. */
  public EngineMetrics(String model, EngineApi api) {
    this.model = model;
    this.names = api == EngineApi.SGLANG ? Names.SGLANG : Names.VLLM;
    queries = counter("prefix_cache_queries", "Prefix cache queries, in terms of number of queried tokens.");
    hits =
        counter(
            names == Names.SGLANG ? "cached_tokens" : "prefix_cache_hits",
            "Prefix cache hits, in terms of number of cached tokens.");
    externalQueries =
        counter(
            "external_prefix_cache_queries",
            "External prefix cache queries from KV connector cross-instance cache sharing, in terms of number of"
                + " queried tokens.");
    externalHits =
        counter(
            "external_prefix_cache_hits",
            "External prefix cache hits from KV connector cross-instance cache sharing, in terms of number of tokens.");
    prompt = counter("prompt_tokens", "Number of prefill tokens processed.");
    generated = counter("generation_tokens", "Number of generation tokens processed.");
    preemptions = counter("num_preemptions", "Cumulative number of preemption from the engine.");
    successes =
        Counter.builder()
            .name(names.prefix + "request_success")
            .help("Count of successfully processed requests.")
            .labelNames("model_name", names.rank, "finished_reason")
            .register(registry);
    firstToken =
        Histogram.builder()
            .name(names.prefix + "time_to_first_token_seconds")
            .help("Histogram of time to first token in seconds.")
            .labelNames("model_name", names.rank)
            .classicOnly()
            .classicUpperBounds(
                0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
                80.0, 160.0, 640.0, 2560.0)
            .register(registry);
  }

  /** One rank's counters; incremented by its thread. */
  record RankMetrics(
      CounterDataPoint queries,
      CounterDataPoint hits,
      CounterDataPoint externalQueries,
      CounterDataPoint externalHits,
      CounterDataPoint prompt,
      CounterDataPoint generated,
      CounterDataPoint preemptions,
      DistributionDataPoint firstToken) {}

  /** One rank's load, as its gauges show it. Thread-safe. */
  public interface RankLoad {
    int rank();

    /** Sequences admitted. */
    int running();

    /** Sequences waiting for admission. */
    int waiting();

    /** Blocks held by sequences. */
    int usedBlocks();
  }

  RankMetrics forRank(int rank) {
    String engine = Integer.toString(rank);
    return new RankMetrics(
        queries.labelValues(model, engine),
        hits.labelValues(model, engine),
        externalQueries.labelValues(model, engine),
        externalHits.labelValues(model, engine),
        prompt.labelValues(model, engine),
        generated.labelValues(model, engine),
        preemptions.labelValues(model, engine),
        firstToken.labelValues(model, engine));
  }

  void countFinished(int rank, GeneratedSequence.FinishReason reason) {
    successes.labelValues(model, Integer.toString(rank), reason.name().toLowerCase(Locale.ROOT)).inc();
  }

  /** Registers the gauges of the ranks' load and of the engine's settings; called once. */
  public void registerGauges(List<? extends RankLoad> ranks, SimSettings settings, TransferAgent transfer) {
    gauge(names.running, "Number of requests in model execution batches.", ranks, RankLoad::running);
    gauge(names.waiting, "Number of requests waiting to be processed.", ranks, RankLoad::waiting);
    gauge(
        names.usage,
        "KV-cache usage. 1 means 100 percent usage.",
        ranks,
        rank -> rank.usedBlocks() / (double) settings.engine().blocks());
    if (names == Names.SGLANG) {
      int blockSize = settings.engine().blockSize();
      gauge("num_used_tokens", "The number of used tokens.", ranks, rank -> (double) rank.usedBlocks() * blockSize);
      double tokens = (double) settings.engine().blocks() * blockSize;
      gauge("max_total_num_tokens", "Tokens the KV cache holds.", ranks, rank -> tokens);
      gauge("page_size", "Tokens in a page.", ranks, rank -> blockSize);
      return;
    }
    if (transfer.isEnabled()) {
      CounterWithCallback.builder()
          .name("vllm:nixl_num_kv_expired_reqs")
          .help("Number of requests whose KV expired before anyone fetched it.")
          .labelNames("model_name", names.rank)
          .callback(counter -> counter.call((double) transfer.stats().expired(), model, "0"))
          .register(registry);
    }
    describeCache(ranks, settings);
  }

  private void describeCache(List<? extends RankLoad> ranks, SimSettings settings) {
    Info cacheConfig =
        Info.builder()
            .name("vllm:cache_config_info")
            .help("Information of the LLMEngine CacheConfig.")
            .labelNames(
                "block_size", "cache_dtype", "enable_prefix_caching", "engine", "kv_cache_size_tokens",
                "num_gpu_blocks", "prefix_caching_hash_algo")
            .register(registry);
    for (RankLoad rank : ranks) {
      cacheConfig.addLabelValues(
          Integer.toString(settings.engine().blockSize()),
          "auto",
          settings.kv().prefixCaching() ? "True" : "False",
          Integer.toString(rank.rank()),
          Long.toString((long) settings.engine().blocks() * settings.engine().blockSize()),
          Integer.toString(settings.engine().blocks()),
          "sha256_cbor");
    }
  }

  public byte[] text() {
    return text(registry.scrape());
  }

  /**
   * The metrics of these names alone. None of SGLang's, which come from several processes and have no names before they
   * are read.
   */
  public byte[] text(Set<String> only) {
    return text(registry.scrape(name -> names == Names.VLLM && only.contains(name)));
  }

  private static byte[] text(MetricSnapshots metrics) {
    ByteArrayOutputStream out = new ByteArrayOutputStream(8192);
    try {
      PrometheusTextFormatWriter.create().write(out, metrics);
    } catch (IOException e) {
      throw new UncheckedIOException("A page in memory cannot fail to be written", e);
    }
    return out.toByteArray();
  }

  private Counter counter(String name, String help) {
    return Counter.builder()
        .name(names.prefix + name)
        .help(help)
        .labelNames("model_name", names.rank)
        .register(registry);
  }

  private void gauge(String name, String help, List<? extends RankLoad> ranks, ToDoubleFunction<RankLoad> value) {
    GaugeWithCallback.builder()
        .name(names.prefix + name)
        .help(help)
        .labelNames("model_name", names.rank)
        .callback(gauge ->
            ranks.forEach(rank -> gauge.call(value.applyAsDouble(rank), model, Integer.toString(rank.rank()))))
        .register(registry);
  }
}
