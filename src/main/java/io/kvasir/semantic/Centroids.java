package io.kvasir.semantic;

import io.kvasir.routing.SemanticCluster;
import io.kvasir.semantic.EmbeddingException.Reason;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The centroids of the clusters: the normalised means of their examples' embeddings. Immutable. */
final class Centroids {
  private final List<Centroid> centroids;

  private record Centroid(SemanticCluster cluster, double threshold, float[] mean) {}

  /**
   * The cluster that is nearest to a text.
   *
   * @param nearest the name of the cluster with the greatest cosine
   * @param cosine of the angle to that cluster's centroid, -1 to 1
   * @param cluster the text's cluster: the nearest of those whose threshold is reached, or {@link SemanticCluster#NONE}
   */
  record NearestCluster(String nearest, double cosine, SemanticCluster cluster) {}

  private Centroids(List<Centroid> centroids) {
    this.centroids = centroids;
  }

  /**
   * The centroids of examples.
   *
   * @param vectors of each cluster's examples, all of length 1, in the clusters' order
   * @throws EmbeddingException when a cluster's examples have no mean, or vectors differ in length
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
              mean(cluster.name(), vectors.get(i), dimension)));
    }
    return new Centroids(centroids);
  }

  private static String selector(Map<String, String> labels) {
    return new TreeMap<>(labels)
        .entrySet().stream().map(label -> label.getKey() + "=" + label.getValue()).collect(Collectors.joining(","));
  }

  private static float[] mean(String name, List<float[]> vectors, int dimension) throws EmbeddingException {
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
      throw new EmbeddingException(Reason.GARBAGE, "the examples of " + name + " have no mean: they are opposites");
    }
    double length = Math.sqrt(square);
    float[] mean = new float[dimension];
    for (int i = 0; i < dimension; i++) {
      mean[i] = (float) (sum[i] / length);
    }
    return mean;
  }

  /**
   * The cluster nearest to a vector of length 1.
   *
   * @throws EmbeddingException when it has another dimension
   */
  NearestCluster match(float[] vector) throws EmbeddingException {
    String nearest = "";
    double maxCosine = Double.NEGATIVE_INFINITY;
    SemanticCluster reached = SemanticCluster.NONE;
    double maxReached = Double.NEGATIVE_INFINITY;
    for (Centroid centroid : centroids) {
      double cosine = cosine(centroid.mean, vector);
      if (cosine > maxCosine) {
        maxCosine = cosine;
        nearest = centroid.cluster.name();
      }
      if (cosine >= centroid.threshold && cosine > maxReached) {
        maxReached = cosine;
        reached = centroid.cluster;
      }
    }
    return new NearestCluster(nearest, maxCosine, reached);
  }

  private static double cosine(float[] mean, float[] vector) throws EmbeddingException {
    if (mean.length != vector.length) {
      throw new EmbeddingException(
          Reason.DIMENSION, "the embedding has " + vector.length + " numbers, the examples' have " + mean.length);
    }
    double product = 0;
    for (int i = 0; i < mean.length; i++) {
      product += (double) mean[i] * vector[i];
    }
    return product;
  }
}
