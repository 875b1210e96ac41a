package io.kvasir.discovery;

import com.typesafe.config.Config;
import io.kvasir.kubernetes.KubernetesConnection;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The pods of Kubernetes that are engines, and the connection to its API.
 *
 * @param connection to the API server
 * @param namespace of the pods that the selector matches; pods of other namespaces have theirs in their name
 * @param selector label selector of the pods; empty when only pools' pods are engines
 * @param relist time between two lists of all pods, which repair what a watch may have lost
 * @param labels names of the pods' labels that become labels of their workers
 * @param pools the InferencePools whose pods are engines, null for none
 * @param pod defaults for what a pod's annotations and labels do not set, as an entry of the configuration's pods
 */
public record KubernetesSettings(
    KubernetesConnection connection,
    String namespace,
    String selector,
    Duration relist,
    List<String> labels,
    @Nullable PoolSettings pools,
    Config pod) {}
