package io.kvasir.lmcache;

import io.kvasir.lmcache.Instances.Instance;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/** The metrics of LMCache. Thread-safe. */
final class LmCacheMetrics {
  private final PrometheusRegistry registry;
  private final Counter polls;
  private final Counter coordinatorPolls;
  private final Counter prefetches;
  private final Counter lookups;
  private final Counter comparisons;
  private final Histogram lookupSeconds;

  /** The outcome of a request's lookup; its name in lower case is a label of the metrics. */
  enum LookupOutcome {
    /** The controller answered. */
    ANSWERED,
    /** The result of a recent lookup was used. */
    REMEMBERED,
    /** The result of another request's lookup in progress was used. */
    SHARED,
    /** The controller did not answer in time. */
    LATE,
    /** The controller answered with an error, or could not be reached. */
    FAILED,
    /** The controller's circuit is open after failures. */
    LEFT_ALONE,
    /** The maximum of concurrent lookups was reached. */
    CROWDED,
    /** The prompt's tokens are not known. */
    NO_TOKENS,
    /** The prompt has no whole chunk. */
    NOTHING_TO_ASK
  }

  /** Registers the metrics; once per registry. */
  LmCacheMetrics(Metrics metrics) {
    this.registry = metrics.registry();
    this.polls =
        Counter.builder()
            .name("kvasir_lmcache_polls_total")
            .help("Polls of the LMCache controller for its workers, by result: answered, failed")
            .labelNames("result")
            .register(registry);
    this.coordinatorPolls =
        Counter.builder()
            .name("kvasir_lmcache_coordinator_polls_total")
            .help("Polls of the LMCache coordinator for its instances, by result: answered, failed")
            .labelNames("result")
            .register(registry);
    this.prefetches =
        Counter.builder()
            .name("kvasir_lmcache_prefetches_total")
            .help(
                "Requests whose prompt LMCache holds on a disk or in a remote store, by outcome of the prefetch:"
                    + " completed, nothing, late, refused, failed, not_worth, unknown_instance, left_alone, crowded,"
                    + " no_tokens")
            .labelNames("result")
            .register(registry);
    this.lookups =
        Counter.builder()
            .name("kvasir_lmcache_lookups_total")
            .help(
                "Requests that needed to know where LMCache holds their prompt, by result: answered, remembered,"
                    + " shared, late, failed, left_alone, crowded, no_tokens, nothing_to_ask")
            .labelNames("result")
            .register(registry);
    this.comparisons =
        Counter.builder()
            .name("kvasir_lmcache_comparisons_total")
            .help(
                "Lookups of prompts that LMCache's events say are held, by result: found, or missing when the"
                    + " controller knew nothing of the prompt")
            .labelNames("result")
            .register(registry);
    this.lookupSeconds =
        Histogram.builder()
            .name("kvasir_lmcache_lookup_seconds")
            .help("Time to tokenise a prompt and to look it up at the LMCache controller")
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

  void recordPrefetch(PrefetchOutcome outcome) {
    prefetches.labelValues(outcome.name().toLowerCase(Locale.ROOT)).inc();
  }

  void recordComparison(boolean found) {
    comparisons.labelValues(found ? "found" : "missing").inc();
  }

  void recordLookup(LookupOutcome outcome) {
    lookups.labelValues(outcome.name().toLowerCase(Locale.ROOT)).inc();
  }

  void recordLookup(LookupOutcome outcome, long nanos) {
    recordLookup(outcome);
    lookupSeconds.observe(nanos / 1e9);
  }

  /** Registers the gauges of the controller's instances, read from its latest poll at every scrape. */
  void watch(Supplier<Poller.PollSnapshot> snapshot, WorkerMap map, NanoClock clock) {
    gauge(
        "kvasir_lmcache_instances",
        "LMCache instances that the controller lists",
        snapshot,
        s -> s.instances().size());
    gauge(
        "kvasir_lmcache_stale_instances",
        "LMCache instances that send no heartbeats any more, so that their keys do not count",
        snapshot,
        s -> s.instances().values().stream().filter(Instance::isStale).count());
    gauge(
        "kvasir_lmcache_unmapped_instances",
        "LMCache instances that belong to no worker",
        snapshot,
        s -> s.mismatches().unmapped().size());
    gauge(
        "kvasir_lmcache_doubled_workers",
        "Workers that several LMCache instances belong to, and instances that several engines report as",
        snapshot,
        s -> s.mismatches().duplicated().size() + s.mismatches().shared().size());
    GaugeWithCallback.builder()
        .name("kvasir_lmcache_keys")
        .help("Chunks that LMCache holds of a worker")
        .labelNames("worker")
        .callback(
            gauge -> {
              Map<String, Long> keys = map.keys(snapshot.get().instances().values());
              keys.forEach((worker, count) -> gauge.call(count, worker));
            })
        .register(registry);
    GaugeWithCallback.builder()
        .name("kvasir_lmcache_age_seconds")
        .help("Time since the last successful poll of the LMCache controller; missing before there was one")
        .callback(
            gauge -> {
              Poller.PollSnapshot now = snapshot.get();
              if (now.answers() > 0) {
                gauge.call((clock.nanos() - now.answeredNanos()) / 1e9);
              }
            })
        .register(registry);
  }

  /** Registers the gauge of the coordinator's instances. */
  void watchCoordinator(Supplier<Poller.PollSnapshot> snapshot) {
    gauge(
        "kvasir_lmcache_coordinator_instances",
        "LMCache instances that the coordinator lists",
        snapshot,
        s -> s.instances().size());
  }

  private void gauge(String name, String help, Supplier<Poller.PollSnapshot> snapshot,
      ToLongFunction<Poller.PollSnapshot> value) {
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .callback(gauge -> gauge.call((double) value.applyAsLong(snapshot.get())))
        .register(registry);
  }
}
