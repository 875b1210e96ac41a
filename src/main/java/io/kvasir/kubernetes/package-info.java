/**
 * The Kubernetes API: {@link io.kvasir.kubernetes.KubernetesApi} is a client of it for any resource, and {@link
 * io.kvasir.kubernetes.ObjectWatch} keeps the objects of a selection as they are, by lists and watches. What the
 * objects mean is known elsewhere: pods in {@code io.kvasir.discovery}. {@link io.kvasir.kubernetes.PathReviews} asks
 * it who may read what a node serves.
 */
@NullMarked
package io.kvasir.kubernetes;

import org.jspecify.annotations.NullMarked;
