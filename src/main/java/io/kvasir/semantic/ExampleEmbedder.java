package io.kvasir.semantic;

import io.kvasir.http.HttpCalls;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Embeds the examples of requested clusters and puts them into service; retries failures with exponential back-off.
 * Owns its thread and the HTTP client, which embeds requests' texts too.
 */
final class ExampleEmbedder implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ExampleEmbedder.class);

  /** Examples in one call. */
  private static final int BATCH = 32;

  private static final Duration MAX_BACKOFF = Duration.ofSeconds(30);

  private final ClusterRollout rollout;
  private final SemanticMetrics metrics;
  private final NanoClock clock;
  private final HttpCalls calls = new HttpCalls();
  private final Thread thread;

  ExampleEmbedder(ClusterRollout rollout, SemanticMetrics metrics, NanoClock clock) {
    this.rollout = rollout;
    this.metrics = metrics;
    this.clock = clock;
    this.thread = Thread.ofVirtual().name("kvasir-semantic").start(this::run);
  }

  private void run() {
    try {
      int failures = 0;
      while (true) {
        ClusterRollout.Job job = rollout.take();
        SemanticSettings settings = job.settings();
        Duration pause = settings.embeddings().calls().retry();
        try {
          rollout.activate(job, embed(settings));
          LOG.info("semantic clusters in service: {}", settings.isOn() ? names(settings) : "none");
          failures = 0;
        } catch (EmbeddingException | RuntimeException failure) {
          // Whatever an endpoint answers: another time it may answer something else.
          String reason = settings.embeddings().endpoint().url() + ": " + failure.getMessage();
          if (failures == 0) {
            LOG.warn("the examples of the semantic clusters cannot be embedded, tried again: {}", reason);
          }
          rollout.onFailure(reason);
          pause = backoff(pause, failures++);
        }
        rollout.pause(job, pause);
      }
    } catch (InterruptedException closed) {
      LOG.debug("the embedding of semantic clusters' examples ends");
    }
  }

  private static Duration backoff(Duration first, int failures) {
    Duration backoff = first.multipliedBy(1L << Math.min(failures, 16));
    return backoff.compareTo(MAX_BACKOFF) < 0 ? backoff : MAX_BACKOFF;
  }

  private static List<String> names(SemanticSettings settings) {
    return settings.clusters().stream().map(SemanticSettings.Cluster::name).toList();
  }

  private ActiveClusters embed(SemanticSettings settings) throws EmbeddingException, InterruptedException {
    if (!settings.isOn()) {
      return new ActiveClusters(settings, null, null);
    }
    SemanticSettings.EmbeddingSettings embeddings = settings.embeddings();
    Embedder embedder = new Embedder(new EmbeddingEndpoint(calls, embeddings), embeddings, metrics, clock);
    List<List<float[]>> vectors = new ArrayList<>();
    for (SemanticSettings.Cluster cluster : settings.clusters()) {
      vectors.add(embed(embedder, cluster.examples()));
    }
    return new ActiveClusters(settings, embedder, Centroids.of(settings.clusters(), vectors));
  }

  private static List<float[]> embed(Embedder embedder, List<String> examples)
      throws EmbeddingException, InterruptedException {
    List<float[]> vectors = new ArrayList<>();
    for (int from = 0; from < examples.size(); from += BATCH) {
      List<String> batch = examples.subList(from, Math.min(examples.size(), from + BATCH));
      try {
        vectors.addAll(embedder.embedAll(batch).get());
      } catch (ExecutionException failed) {
        throw EmbeddingException.of(failed.getCause() == null ? failed : failed.getCause());
      }
    }
    return vectors;
  }

  @Override
  public void close() {
    thread.interrupt();
    calls.close();
  }
}
