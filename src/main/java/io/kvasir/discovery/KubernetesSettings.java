package io.kvasir.discovery;

import com.typesafe.config.Config;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Which pods of Kubernetes are engines, and how its API is reached.
 *
 * @param api the API server
 * @param namespace of the pods
 * @param selector label selector of the pods
 * @param token file with the bearer token, read anew for each request, for Kubernetes replaces it
 * @param authority file with the certificates of the API's authority
 * @param relist how often all pods are listed, for what a watch may have lost
 * @param labels labels of a pod that its workers have, too
 * @param pod what a pod's annotations and labels do not say, in the shape of a pod of the configuration
 */
public record KubernetesSettings(
    URI api,
    String namespace,
    String selector,
    Path token,
    Path authority,
    Duration relist,
    List<String> labels,
    Config pod) {}
