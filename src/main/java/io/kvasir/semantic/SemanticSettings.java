package io.kvasir.semantic;

import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The clusters and where texts are embedded.
 *
 * @param clusters none: there is nothing to tell, and the endpoint is not asked
 */
public record SemanticSettings(EmbeddingSettings embeddings, List<Cluster> clusters) {
  /** Copies what it is given. */
  public SemanticSettings {
    clusters = List.copyOf(clusters);
  }

  /** Whether there is a cluster. */
  public boolean isOn() {
    return !clusters.isEmpty();
  }

  /**
   * An OpenAI-compatible endpoint for embeddings.
   *
   * @param url all of it, such as {@code http://10.0.0.7:8000/v1/embeddings}
   * @param model as the endpoint calls it
   * @param apiKey shown to it as a bearer's, null when it asks for none
   * @param budget how long a request waits for its embedding
   * @param timeout how long a call may take: an answer that comes too late for its request serves the next ones
   * @param retry how often an endpoint that is away is tried
   * @param concurrency calls that may be under way at once
   * @param memory how many of the last embeddings are remembered
   * @param longestText characters of a text that are embedded, its first ones
   */
  public record EmbeddingSettings(
      URI url,
      String model,
      @Nullable String apiKey,
      Duration budget,
      Duration timeout,
      Duration retry,
      int concurrency,
      int memory,
      int longestText) {
    /** Without the key. */
    @Override
    public String toString() {
      return "embeddings of " + model + " at " + url;
    }
  }

  /**
   * One cluster.
   *
   * @param name at most 40 lower-case letters, digits and hyphens
   * @param examples what its requests say; at least one
   * @param workers labels that its workers have; at least one
   * @param threshold cosine of the angle to the examples' middle that a text has to reach, 0 to 1
   */
  public record Cluster(String name, List<String> examples, Map<String, String> workers, double threshold) {
    /** Copies what it is given. */
    public Cluster {
      examples = List.copyOf(examples);
      workers = Map.copyOf(workers);
    }
  }
}
