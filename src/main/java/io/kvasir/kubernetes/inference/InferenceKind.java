package io.kvasir.kubernetes.inference;

import io.kvasir.kubernetes.ApiResource;
import java.util.List;

/** The kinds of objects that describe inference pools. */
enum InferenceKind {
  /** Pods that serve a set of models together. */
  POOL("InferencePool"),

  /** A named priority of requests to a pool. */
  OBJECTIVE("InferenceObjective"),

  /** Models that a pool's requests get in place of those that they name. */
  REWRITE("InferenceModelRewrite");

  private static final ApiResource POOLS = new ApiResource("inference.networking.k8s.io", "v1", "inferencepools");

  private final String kind;

  InferenceKind(String kind) {
    this.kind = kind;
  }

  /** The kind as objects name it. */
  String kind() {
    return kind;
  }

  /** The resources that have these objects, the preferred first. */
  List<ApiResource> resources() {
    return switch (this) {
      case POOL -> List.of(POOLS);
      case OBJECTIVE -> inBothGroups("inferenceobjectives");
      case REWRITE -> inBothGroups("inferencemodelrewrites");
    };
  }

  /** The group of today before the one that these objects came from. */
  private static List<ApiResource> inBothGroups(String plural) {
    return List.of(
        new ApiResource("llm-d.ai", "v1alpha2", plural),
        new ApiResource("inference.networking.x-k8s.io", "v1alpha2", plural));
  }
}
