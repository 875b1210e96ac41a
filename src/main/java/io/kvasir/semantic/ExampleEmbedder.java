package io.kvasir.semantic;

import io.kvasir.semantic.SemanticClusters.ActiveClusters;
import io.kvasir.semantic.SemanticClusters.EmbeddingJob;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Embeds the clusters' examples whenever that has to be done, and again until it has succeeded. */
final class ExampleEmbedder implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ExampleEmbedder.class);

  /** Examples that are embedded by one call. */
  private static final int TOGETHER = 32;

  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);

  private final SemanticClusters clusters;
  private final SemanticMetrics metrics;
  private final HttpClient client =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .executor(Executors.newVirtualThreadPerTaskExecutor())
          .build();
  private final Thread thread;

  ExampleEmbedder(SemanticClusters clusters, SemanticMetrics metrics) {
    this.clusters = clusters;
    this.metrics = metrics;
    this.thread = Thread.ofVirtual().name("kvasir-semantic").start(this::run);
  }

  private void run() {
    try {
      int failures = 0;
      while (true) {
        EmbeddingJob order = clusters.await();
        SemanticSettings settings = order.settings();
        Duration pause = settings.embeddings().retry();
        try {
          clusters.activate(order, service(settings));
          LOG.info("semantic clusters in service: {}", settings.isOn() ? names(settings) : "none");
          failures = 0;
        } catch (EmbeddingException failure) {
          String why = settings.embeddings().url() + ": " + failure.getMessage();
          if (failures == 0) {
            LOG.warn("the examples of the semantic clusters cannot be embedded, tried again: {}", why);
          }
          clusters.onFailure(why);
          pause = longer(pause, failures++);
        }
        clusters.pause(order, pause);
      }
    } catch (InterruptedException closed) {
      LOG.debug("semantic clusters are not kept up any more");
    }
  }

  private static Duration longer(Duration pause, int failures) {
    Duration longer = pause.multipliedBy(1L << Math.min(failures, 16));
    return longer.compareTo(LONGEST_PAUSE) < 0 ? longer : LONGEST_PAUSE;
  }

  private static List<String> names(SemanticSettings settings) {
    return settings.clusters().stream().map(SemanticSettings.Cluster::name).toList();
  }

  private ActiveClusters service(SemanticSettings settings) throws EmbeddingException, InterruptedException {
    if (!settings.isOn()) {
      return new ActiveClusters(settings, null, null);
    }
    SemanticSettings.EmbeddingSettings embeddings = settings.embeddings();
    Embedder embedder =
        new Embedder(new EmbeddingEndpoint(client, embeddings), embeddings, metrics, System::nanoTime);
    List<List<float[]>> vectors = new ArrayList<>();
    for (SemanticSettings.Cluster cluster : settings.clusters()) {
      vectors.add(embedded(embedder, cluster.examples()));
    }
    return new ActiveClusters(settings, embedder, Centroids.of(settings.clusters(), vectors));
  }

  private static List<float[]> embedded(Embedder embedder, List<String> examples)
      throws EmbeddingException, InterruptedException {
    List<float[]> vectors = new ArrayList<>();
    for (int from = 0; from < examples.size(); from += TOGETHER) {
      List<String> some = examples.subList(from, Math.min(examples.size(), from + TOGETHER));
      try {
        vectors.addAll(embedder.embedAll(some).get());
      } catch (ExecutionException failed) {
        throw EmbeddingException.of(failed.getCause() == null ? failed : failed.getCause());
      }
    }
    return vectors;
  }

  @Override
  public void close() {
    thread.interrupt();
    client.shutdownNow();
    client.close();
  }
}
