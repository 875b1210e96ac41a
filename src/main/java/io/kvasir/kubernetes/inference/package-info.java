/**
 * The objects of Kubernetes that describe inference pools: {@link io.kvasir.kubernetes.inference.InferenceObjects}
 * watches InferencePools, InferenceObjectives and InferenceModelRewrites on every node, and {@link
 * io.kvasir.kubernetes.inference.StatusWriter} writes what became of them into their status, on one node.
 */
@NullMarked
package io.kvasir.kubernetes.inference;

import org.jspecify.annotations.NullMarked;
