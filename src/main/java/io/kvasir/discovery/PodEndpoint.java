package io.kvasir.discovery;

import io.kvasir.kubernetes.ObjectKey;
import java.util.Set;

/**
 * One place at which a Kubernetes pod serves: an entry of the configuration's pods. Immutable.
 *
 * @param pod the pod
 * @param name of the entry
 * @param port 0 for the one that the pod itself says
 * @param index among the pod's ports, to which those of its events run parallel
 * @param pools ids of the InferencePools that it belongs to
 */
record PodEndpoint(ObjectKey pod, String name, int port, int index, Set<String> pools) {}
