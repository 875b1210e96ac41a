package io.kvasir.routing;

/**
 * One of an operator's groups of requests that mean about the same, as it goes through {@link Slots#SEMANTIC_CLUSTER}.
 *
 * @param name its name: at most 40 lower-case letters, digits and hyphens
 * @param workers the labels of its workers, as a selector such as {@code skill=code,tier=gold}; empty when all workers
 *     will do
 */
public record SemanticCluster(String name, String workers) {
  /** Of a request that is near no cluster. */
  public static final SemanticCluster NONE = new SemanticCluster("none", "");

  /** Of a request of which it could not be told. */
  public static final SemanticCluster UNKNOWN = new SemanticCluster("unknown", "");

  private static final char SEPARATOR = '\n';

  /** Reads what {@link #encode} has made. */
  public static SemanticCluster decode(String written) {
    int end = written.indexOf(SEPARATOR);
    return end < 0
        ? new SemanticCluster(written, "")
        : new SemanticCluster(written.substring(0, end), written.substring(end + 1));
  }

  /** As the slot holds it. */
  public String encode() {
    return name + SEPARATOR + workers;
  }
}
