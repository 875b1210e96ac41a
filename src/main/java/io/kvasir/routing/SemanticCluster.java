package io.kvasir.routing;

/**
 * A semantic cluster: one of an operator's groups of requests with similar meaning, and the workers for it.
 *
 * @param name at most 40 lower-case letters, digits and hyphens
 * @param workers label selector of its workers, such as {@code skill=code,tier=gold}; empty for all workers
 */
public record SemanticCluster(String name, String workers) {
  /** The cluster of requests that are near no configured one. */
  public static final SemanticCluster NONE = new SemanticCluster("none", "");

  /** The cluster of requests that could not be classified. */
  public static final SemanticCluster UNKNOWN = new SemanticCluster("unknown", "");

  private static final char SEPARATOR = '\n';

  /** A cluster from its text form. */
  public static SemanticCluster decode(String text) {
    int end = text.indexOf(SEPARATOR);
    return end < 0
        ? new SemanticCluster(text, "")
        : new SemanticCluster(text.substring(0, end), text.substring(end + 1));
  }

  /** The text form, which {@link #decode} reads. */
  public String encode() {
    return name + SEPARATOR + workers;
  }
}
