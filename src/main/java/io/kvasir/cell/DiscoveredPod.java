package io.kvasir.cell;

/**
 * A pod as a source found it.
 *
 * @param spec the pod
 * @param withheld whether it gets nothing new for now: not ready yet, or on its way out
 */
public record DiscoveredPod(PodSpec spec, boolean withheld) {}
