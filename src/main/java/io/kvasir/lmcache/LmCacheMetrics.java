package io.kvasir.lmcache;

import io.kvasir.lmcache.Instances.Instance;
import io.kvasir.lmcache.Prefetcher.PrefetchOutcome;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/** What operators see of LMCache. Thread-safe. */
final class LmCacheMetrics {
  private final PrometheusRegistry registry;
  private final Counter polls;
  private final Counter coordinatorPolls;
  private final Counter prefetches;
  private final Counter lookups;
  private final Histogram lookupSeconds;

  /** What became of a request's question. */
  enum LookupOutcome {
    /** The controller answered it. */
    ANSWERED,
    /** It had answered the same a moment ago. */
    REMEMBERED,
    /** It was answering the same for another request. */
    SHARED,
    /** It did not answer in time. */
    LATE,
    /** It answered with an error, or could not be reached. */
    FAILED,
    /** It had failed before and was not asked. */
    LEFT_ALONE,
    /** As many questions as may be were under way. */
    CROWDED,
    /** The prompt's tokens are not known. */
    NO_TOKENS,
    /** The prompt has no whole chunk. */
    NOTHING_TO_ASK
  }

  /** Registers them; once per registry. */
  LmCacheMetrics(Metrics metrics) {
    this.registry = metrics.registry();
    this.polls =
        Counter.builder()
            .name("kvasir_lmcache_polls_total")
            .help("Questions to the LMCache controller for its workers, by result: answered, failed")
            .labelNames("result")
            .register(registry);
    this.coordinatorPolls =
        Counter.builder()
            .name("kvasir_lmcache_coordinator_polls_total")
            .help("Questions to the LMCache coordinator for its instances, by result: answered, failed")
            .labelNames("result")
            .register(registry);
    this.prefetches =
        Counter.builder()
            .name("kvasir_lmcache_prefetches_total")
            .help(
                "Requests whose prompt LMCache holds on a disk or in a remote store, by what became of fetching it:"
                    + " completed, nothing, late, refused, failed, not_worth, unknown_instance, left_alone, crowded,"
                    + " no_tokens")
            .labelNames("result")
            .register(registry);
    this.lookups =
        Counter.builder()
            .name("kvasir_lmcache_lookups_total")
            .help(
                "Requests that wanted to know where LMCache holds their prompt, by result: answered, remembered,"
                    + " shared, late, failed, left_alone, crowded, no_tokens, nothing_to_ask")
            .labelNames("result")
            .register(registry);
    this.lookupSeconds =
        Histogram.builder()
            .name("kvasir_lmcache_lookup_seconds")
            .help("Time to tokenise a prompt and have the LMCache controller look it up")
            .classicOnly()
            .classicUpperBounds(1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1, 2)
            .register(registry);
  }

  void recordPoll(boolean answered) {
    polls.labelValues(answered ? "answered" : "failed").inc();
  }

  void recordCoordinatorPoll(boolean answered) {
    coordinatorPolls.labelValues(answered ? "answered" : "failed").inc();
  }

  void recordPrefetch(PrefetchOutcome result) {
    prefetches.labelValues(result.name().toLowerCase(Locale.ROOT)).inc();
  }

  void recordLookup(LookupOutcome answer) {
    lookups.labelValues(answer.name().toLowerCase(Locale.ROOT)).inc();
  }

  void recordLookup(LookupOutcome answer, long nanos) {
    recordLookup(answer);
    lookupSeconds.observe(nanos / 1e9);
  }

  /** Shows what is known of the instances. */
  void watch(Supplier<Poller.PollSnapshot> state, WorkerMap map) {
    gauge("kvasir_lmcache_instances", "LMCache instances that the controller knows", state, s -> s.instances().size());
    gauge(
        "kvasir_lmcache_stale_instances",
        "LMCache instances that have stopped beating, so that what they hold does not count",
        state,
        s -> s.instances().values().stream().filter(Instance::isStale).count());
    gauge(
        "kvasir_lmcache_unmapped_instances",
        "LMCache instances that belong to no worker",
        state,
        s -> s.mismatches().unmapped().size());
    gauge(
        "kvasir_lmcache_doubled_workers",
        "Workers that several LMCache instances are said to belong to, and instances that several engines report as",
        state,
        s -> s.mismatches().duplicated().size() + s.mismatches().shared().size());
    GaugeWithCallback.builder()
        .name("kvasir_lmcache_keys")
        .help("Chunks that LMCache holds of a worker")
        .labelNames("worker")
        .callback(
            gauge -> {
              Map<String, Long> keys = map.keys(state.get().instances().values());
              keys.forEach((worker, count) -> gauge.call(count, worker));
            })
        .register(registry);
    GaugeWithCallback.builder()
        .name("kvasir_lmcache_age_seconds")
        .help("How long ago the LMCache controller last said what it holds; missing before it has")
        .callback(
            gauge -> {
              Poller.PollSnapshot now = state.get();
              if (now.answers() > 0) {
                gauge.call((System.nanoTime() - now.answeredNanos()) / 1e9);
              }
            })
        .register(registry);
  }

  /** Shows what the coordinator knows. */
  void watchCoordinator(Supplier<Poller.PollSnapshot> state) {
    gauge(
        "kvasir_lmcache_coordinator_instances",
        "LMCache instances that the coordinator knows",
        state,
        s -> s.instances().size());
  }

  private void gauge(String name, String help, Supplier<Poller.PollSnapshot> state,
      ToLongFunction<Poller.PollSnapshot> value) {
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .callback(gauge -> gauge.call((double) value.applyAsLong(state.get())))
        .register(registry);
  }
}
