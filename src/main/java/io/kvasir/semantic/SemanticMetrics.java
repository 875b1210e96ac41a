package io.kvasir.semantic;

import io.kvasir.routing.SemanticCluster;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.Histogram;

/** The metrics of semantic clusters, labelled by the clusters' configured names. Thread-safe. */
final class SemanticMetrics {
  private final Counter requests =
      Counter.builder()
          .name("kvasir_semantic_requests_total")
          .help("Requests by their semantic cluster; none: no cluster is near enough; unknown: no embedding.")
          .labelNames("cluster")
          .build();
  private final Counter failures =
      Counter.builder()
          .name("kvasir_semantic_failures_total")
          .help("Requests whose cluster is unknown, by reason: starting (no centroids yet), late, busy (concurrency),"
              + " away (circuit open), unreachable, status, garbage, dimension (of another length than the examples').")
          .labelNames("why")
          .build();
  private final Counter lookups =
      Counter.builder()
          .name("kvasir_semantic_embeddings_total")
          .help("Embeddings that requests needed, by where they came from: memory, flight (another request's call in"
              + " progress), endpoint.")
          .labelNames("from")
          .build();
  private final Histogram seconds =
      Histogram.builder()
          .name("kvasir_semantic_embedding_seconds")
          .help("Time of calls to the embedding endpoint, with any outcome.")
          .classicOnly()
          .classicExponentialUpperBounds(0.001, 2, 14)
          .build();
  private final Histogram similarity =
      Histogram.builder()
          .name("kvasir_semantic_similarity")
          .help("Cosine of requests and their nearest cluster, whether they reach its threshold or not.")
          .labelNames("cluster")
          .classicOnly()
          .classicLinearUpperBounds(0.05, 0.05, 19)
          .build();
  private final Counter unserved =
      Counter.builder()
          .name("kvasir_semantic_unserved_total")
          .help("Decisions for which no worker of the request's cluster could be chosen, so that others were.")
          .labelNames("cluster")
          .build();
  private final Gauge ready =
      Gauge.builder()
          .name("kvasir_semantic_ready")
          .help("1 while the clusters are in service as they are configured.")
          .build();

  /** Registers the metrics; once per registry. */
  void register(Metrics metrics) {
    metrics.registry().register(requests);
    metrics.registry().register(failures);
    metrics.registry().register(lookups);
    metrics.registry().register(seconds);
    metrics.registry().register(similarity);
    metrics.registry().register(unserved);
    metrics.registry().register(ready);
  }

  void recordLookup(String from) {
    lookups.labelValues(from).inc();
  }

  void recordCall(long nanos) {
    seconds.observe(nanos / 1e9);
  }

  void recordMatch(Centroids.NearestCluster match) {
    requests.labelValues(match.cluster().name()).inc();
    similarity.labelValues(match.nearest()).observe(match.cosine());
  }

  void recordFailure(EmbeddingException.Reason reason) {
    requests.labelValues(SemanticCluster.UNKNOWN.name()).inc();
    failures.labelValues(reason.label()).inc();
  }

  void unserved(SemanticCluster cluster) {
    unserved.labelValues(cluster.name()).inc();
  }

  void ready(boolean inService) {
    ready.set(inService ? 1 : 0);
  }
}
