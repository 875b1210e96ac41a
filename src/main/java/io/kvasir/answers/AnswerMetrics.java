package io.kvasir.answers;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/** What operators see of the response cache. Thread-safe. */
final class AnswerMetrics {
  private final PrometheusRegistry registry;
  private final Counter hits;
  private final Counter misses;
  private final Counter shared;
  private final Counter bypasses;
  private final Counter kept;
  private final Counter refused;
  private final Counter evictions;
  private final Counter storeErrors;
  private final Gauge waiting;
  private final Gauge recording;

  AnswerMetrics(Metrics metrics) {
    registry = metrics.registry();
    hits = counter("hits", "Requests answered with a stored answer");
    misses = counter("misses", "Requests whose answer was not stored and had to come from a worker");
    shared = counter("shared", "Requests answered with the answer to an identical one in flight");
    bypasses = Counter.builder()
        .name("kvasir_answer_cache_bypasses_total")
        .help("Requests that bypassed the cache, by the reason in X-Router-Cache-Reason")
        .labelNames("reason")
        .register(registry);
    kept = counter("kept", "Answers that the store has taken");
    refused = Counter.builder()
        .name("kvasir_answer_cache_not_kept_total")
        .help("Answers that were not stored, by reason: error (in the answer), truncated, unfinished (aborted by"
            + " the engine), too_long, crowded (too many in flight)")
        .labelNames("reason")
        .register(registry);
    evictions = Counter.builder()
        .name("kvasir_answer_cache_evictions_total")
        .help("Answers evicted from the memory store: size (others needed the room), expired")
        .labelNames("cause")
        .register(registry);
    storeErrors = Counter.builder()
        .name("kvasir_answer_cache_store_errors_total")
        .help("Failed calls to the store: find, keep, flush")
        .labelNames("operation")
        .register(registry);
    waiting = Gauge.builder()
        .name("kvasir_answer_cache_waiting")
        .help("Requests that wait for the answer to an identical one now")
        .register(registry);
    recording = Gauge.builder()
        .name("kvasir_answer_cache_recording_bytes")
        .help("Bytes of answers in flight that are recorded to be stored")
        .register(registry);
  }

  private Counter counter(String name, String help) {
    return Counter.builder().name("kvasir_answer_cache_" + name + "_total").help(help).register(registry);
  }

  /** Watches a store from now on. */
  void watch(AnswerStore store) {
    gauge("kvasir_answer_cache_entries", "Answers in the memory store", () -> store.entries().orElse(0));
    gauge("kvasir_answer_cache_bytes", "Bytes of the memory store, requests included", () -> store.bytes().orElse(0));
    gauge("kvasir_answer_cache_store_up", "1 while the store answers, 0 while it is unavailable",
        () -> store.outage().isEmpty() ? 1 : 0);
  }

  private void gauge(String name, String help, LongSupplier value) {
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .callback(to -> to.call((double) value.getAsLong()))
        .register(registry);
  }

  void hit() {
    hits.inc();
  }

  void missed() {
    misses.inc();
  }

  void sharing(boolean begins) {
    if (begins) {
      shared.inc();
      waiting.inc();
    } else {
      waiting.dec();
    }
  }

  void bypassed(Bypass why) {
    bypasses.labelValues(why.label()).inc();
  }

  void kept() {
    kept.inc();
  }

  void notKept(String why) {
    refused.labelValues(why).inc();
  }

  long notKeptFor(String why) {
    return refused.labelValues(why).getLongValue();
  }

  void evicted(String cause) {
    evictions.labelValues(cause.toLowerCase(Locale.ROOT)).inc();
  }

  void storeFailed(String operation) {
    storeErrors.labelValues(operation).inc();
  }

  void recording(long bytes) {
    recording.inc((double) bytes);
  }

  AnswerCacheStats stats(AnswerStore store) {
    Map<String, Long> bypassed = new TreeMap<>();
    for (Bypass why : Bypass.values()) {
      bypassed.put(why.label(), bypasses.labelValues(why.label()).getLongValue());
    }
    return new AnswerCacheStats(
        new AnswerCacheStats.StoreStats(store.name(), store.outage(), store.entries(), store.bytes()),
        new AnswerCacheStats.RequestStats(
            hits.getLongValue(), misses.getLongValue(), shared.getLongValue(), bypassed),
        kept.getLongValue(),
        (long) waiting.get(),
        (long) recording.get());
  }
}
