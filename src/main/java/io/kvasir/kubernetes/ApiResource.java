package io.kvasir.kubernetes;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;

/**
 * A resource of the Kubernetes API: what its objects' addresses begin with.
 *
 * @param group the API group, empty for the core group
 * @param version of the group, such as {@code v1}
 * @param plural the name in addresses, such as {@code pods}
 */
public record ApiResource(String group, String version, String plural) {
  /** Pods of the core group. */
  public static final ApiResource PODS = new ApiResource("", "v1", "pods");

  /** Services of the core group. */
  public static final ApiResource SERVICES = new ApiResource("", "v1", "services");

  /** Events of the core group: what {@code kubectl describe} shows below an object. */
  public static final ApiResource EVENTS = new ApiResource("", "v1", "events");

  /** The path of the collection in a namespace; an empty namespace means all of them. */
  String path(String namespace) {
    String root = group.isEmpty() ? "/api/" + version : "/apis/" + group + "/" + version;
    return root + (namespace.isEmpty() ? "" : "/namespaces/" + encoded(namespace)) + "/" + plural;
  }

  static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  /** As {@code kubectl} and RBAC name it: {@code inferencepools.inference.networking.k8s.io}. */
  @Override
  public String toString() {
    return group.isEmpty() ? plural : plural + "." + group;
  }
}
