package io.kvasir.discovery;

import com.typesafe.config.Config;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * The pods of Kubernetes that are engines, and the connection to its API.
 *
 * @param api address of the API server
 * @param namespace of the pods
 * @param selector label selector of the pods
 * @param token file with the bearer token, read for each request because Kubernetes rotates it
 * @param authority file with the certificates of the API's authority
 * @param relist time between two lists of all pods, which repair what a watch may have lost
 * @param labels names of the pods' labels that become labels of their workers
 * @param pod defaults for what a pod's annotations and labels do not set, as an entry of the configuration's pods
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
