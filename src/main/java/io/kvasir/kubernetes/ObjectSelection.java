package io.kvasir.kubernetes;

/**
 * The objects that are listed and watched together.
 *
 * @param resource what they are
 * @param namespace of the objects; empty for all namespaces
 * @param labels label selector, such as {@code app=vllm}; empty for all objects
 */
public record ObjectSelection(ApiResource resource, String namespace, String labels) {
  /** The path and the beginning of the query of a list or a watch. */
  String target() {
    String query = labels.isEmpty() ? "" : "labelSelector=" + ApiResource.encoded(labels) + "&";
    return resource.path(namespace) + "?" + query;
  }

  /** Such as {@code pods of namespace models}. */
  @Override
  public String toString() {
    return resource + (namespace.isEmpty() ? " of all namespaces" : " of namespace " + namespace);
  }
}
