package io.kvasir.semantic;

import io.kvasir.routing.SemanticCluster;
import io.kvasir.semantic.EmbeddingException.Reason;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The middles of the clusters' examples. Immutable. */
final class Centroids {
  private final List<Centroid> centroids;

  private record Centroid(SemanticCluster cluster, double threshold, float[] mean) {}

  /**
   * What a text is near.
   *
   * @param nearest the name of the cluster it is nearest to
   * @param cosine of the angle to that one's middle
   * @param cluster the one it belongs to: the nearest of those whose threshold it reaches, or {@link
   *     SemanticCluster#NONE}
   */
  record NearestCluster(String nearest, double cosine, SemanticCluster cluster) {}

  private Centroids(List<Centroid> centroids) {
    this.centroids = centroids;
  }

  /**
   * The middles of examples.
   *
   * @param vectors those of each cluster's examples, all of length 1, in the clusters' order
   * @throws EmbeddingException when they cannot have a middle
   */
  static Centroids of(List<SemanticSettings.Cluster> clusters, List<List<float[]>> vectors) throws EmbeddingException {
    List<Centroid> centroids = new ArrayList<>();
    int dimension = vectors.getFirst().getFirst().length;
    for (int i = 0; i < clusters.size(); i++) {
      SemanticSettings.Cluster cluster = clusters.get(i);
      centroids.add(
          new Centroid(
              new SemanticCluster(cluster.name(), selector(cluster.workers())),
              cluster.threshold(),
              middle(cluster.name(), vectors.get(i), dimension)));
    }
    return new Centroids(centroids);
  }

  private static String selector(Map<String, String> labels) {
    return new TreeMap<>(labels)
        .entrySet().stream().map(label -> label.getKey() + "=" + label.getValue()).collect(Collectors.joining(","));
  }

  private static float[] middle(String name, List<float[]> vectors, int dimension) throws EmbeddingException {
    double[] sum = new double[dimension];
    for (float[] vector : vectors) {
      if (vector.length != dimension) {
        throw new EmbeddingException(
            Reason.DIMENSION, "the examples' embeddings have " + dimension + " and " + vector.length + " numbers");
      }
      for (int i = 0; i < dimension; i++) {
        sum[i] += vector[i];
      }
    }
    double square = 0;
    for (double value : sum) {
      square += value * value;
    }
    if (square < 1e-9) {
      throw new EmbeddingException(Reason.GARBAGE, "the examples of " + name + " have no middle: they are opposites");
    }
    double length = Math.sqrt(square);
    float[] middle = new float[dimension];
    for (int i = 0; i < dimension; i++) {
      middle[i] = (float) (sum[i] / length);
    }
    return middle;
  }

  /**
   * Compares a vector of length 1.
   *
   * @throws EmbeddingException when it has another dimension
   */
  NearestCluster match(float[] vector) throws EmbeddingException {
    String nearest = "";
    double most = Double.NEGATIVE_INFINITY;
    SemanticCluster reached = SemanticCluster.NONE;
    double mostReached = Double.NEGATIVE_INFINITY;
    for (Centroid centroid : centroids) {
      double cosine = cosine(centroid.mean, vector);
      if (cosine > most) {
        most = cosine;
        nearest = centroid.cluster.name();
      }
      if (cosine >= centroid.threshold && cosine > mostReached) {
        mostReached = cosine;
        reached = centroid.cluster;
      }
    }
    return new NearestCluster(nearest, most, reached);
  }

  private static double cosine(float[] middle, float[] vector) throws EmbeddingException {
    if (middle.length != vector.length) {
      throw new EmbeddingException(
          Reason.DIMENSION, "the embedding has " + vector.length + " numbers, the examples' have " + middle.length);
    }
    double product = 0;
    for (int i = 0; i < middle.length; i++) {
      product += (double) middle[i] * vector[i];
    }
    return product;
  }
}
