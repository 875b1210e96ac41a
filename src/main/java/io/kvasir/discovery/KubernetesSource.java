package io.kvasir.discovery;

import io.kvasir.kubernetes.ObjectWatch;
import io.kvasir.kubernetes.inference.InferenceObjects;
import org.jspecify.annotations.Nullable;

/**
 * Where the pods of Kubernetes are read.
 *
 * @param settings the API and what is read there
 * @param pace how often the API is called
 * @param pools the InferencePools of this node, null where none are watched
 */
record KubernetesSource(KubernetesSettings settings, ObjectWatch.Pace pace, @Nullable InferenceObjects pools) {}
