package io.kvasir.kubernetes.inference;

import io.kvasir.kubernetes.ApiResource;
import io.kvasir.kubernetes.Definition;
import io.kvasir.kubernetes.FakeKubernetes;
import java.util.List;

/** The resources of inference pools, for a fake API server, and objects of them. */
public final class InferenceApi {
  public static final ApiResource POOLS = new ApiResource("inference.networking.k8s.io", "v1", "inferencepools");
  public static final ApiResource OBJECTIVES = new ApiResource("llm-d.ai", "v1alpha2", "inferenceobjectives");
  public static final ApiResource OLD_OBJECTIVES =
      new ApiResource("inference.networking.x-k8s.io", "v1alpha2", "inferenceobjectives");
  public static final ApiResource REWRITES = new ApiResource("llm-d.ai", "v1alpha2", "inferencemodelrewrites");

  private InferenceApi() {}

  /** The definitions of today. */
  public static List<Definition> definitions() {
    return List.of(
        Definition.published("inferencepools"),
        Definition.published("inferenceobjectives").inGroup("llm-d.ai"),
        Definition.published("inferencemodelrewrites").inGroup("llm-d.ai"));
  }

  /** Installs them. */
  public static void install(FakeKubernetes kubernetes) {
    definitions().forEach(kubernetes::install);
  }

  /** A pool of pods with the label {@code app}, with a picker of its own. */
  public static String pool(String namespace, String name, String app, String ports) {
    return """
        {"apiVersion": "inference.networking.k8s.io/v1", "kind": "InferencePool",
         "metadata": {"namespace": "%s", "name": "%s"},
         "spec": {"selector": {"matchLabels": {"app": "%s"}}, "targetPorts": [%s], "later": {"field": 1},
           "endpointPickerRef": {"name": "%s-picker", "port": {"number": 9002}}}}
        """
        .formatted(namespace, name, app, ports, name);
  }

  /** A Service. */
  public static String service(String namespace, String name) {
    return "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\"},\"spec\":{\"type\":\"ClusterIP\"}}"
        .formatted(namespace, name);
  }

  /** An objective of a pool. */
  public static String objective(String namespace, String name, String pool, String priority) {
    return """
        {"apiVersion": "llm-d.ai/v1alpha2", "kind": "InferenceObjective",
         "metadata": {"namespace": "%s", "name": "%s"}, "spec": {"poolRef": {"name": "%s"}, "priority": %s}}
        """
        .formatted(namespace, name, pool, priority);
  }

  /** A rewrite of a pool's models. */
  public static String rewrite(String namespace, String name, String pool, String created, String rules) {
    return """
        {"apiVersion": "llm-d.ai/v1alpha2", "kind": "InferenceModelRewrite",
         "metadata": {"namespace": "%s", "name": "%s", "creationTimestamp": "%s"},
         "spec": {"poolRef": {"name": "%s"}, "rules": %s}}
        """
        .formatted(namespace, name, created, pool, rules);
  }
}
