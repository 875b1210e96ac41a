package io.kvasir.semantic;

import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The semantic clusters and the endpoint that embeds texts.
 *
 * @param clusters when there is none, the endpoint is never called
 */
public record SemanticSettings(EmbeddingSettings embeddings, List<Cluster> clusters) {
  /** Copies the list. */
  public SemanticSettings {
    clusters = List.copyOf(clusters);
  }

  /** Whether there is a cluster. */
  public boolean isOn() {
    return !clusters.isEmpty();
  }

  /**
   * How texts are embedded.
   *
   * @param endpoint what computes embeddings
   * @param budget how long a request waits for its embedding
   * @param calls limits of the calls to the endpoint
   * @param memory how many recent embeddings are cached
   * @param maxTextLength characters of a text that are embedded, its first ones
   */
  public record EmbeddingSettings(
      EndpointSettings endpoint, Duration budget, CallLimits calls, int memory, int maxTextLength) {}

  /**
   * An OpenAI-compatible endpoint for embeddings.
   *
   * @param url with its path, such as {@code http://10.0.0.7:8000/v1/embeddings}
   * @param model the endpoint's name of it
   * @param apiKey bearer token, null for none
   */
  public record EndpointSettings(URI url, String model, @Nullable String apiKey) {
    /** Without the key. */
    @Override
    public String toString() {
      return "embeddings of " + model + " at " + url;
    }
  }

  /**
   * The limits of calls to an endpoint.
   *
   * @param timeout of a call: a response that is too late for its request serves the next ones
   * @param retry time between two trials of an endpoint that fails
   * @param concurrency maximum of concurrent calls
   */
  public record CallLimits(Duration timeout, Duration retry, int concurrency) {}

  /**
   * One cluster.
   *
   * @param name at most 40 lower-case letters, digits and hyphens
   * @param examples texts of its requests; at least one
   * @param workers labels of its workers; at least one
   * @param threshold cosine of the angle to the centroid that a text has to reach, 0 to 1
   */
  public record Cluster(String name, List<String> examples, Map<String, String> workers, double threshold) {
    /** Copies the collections. */
    public Cluster {
      examples = List.copyOf(examples);
      workers = Map.copyOf(workers);
    }
  }
}
