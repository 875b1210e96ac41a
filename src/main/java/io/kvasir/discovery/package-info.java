/**
 * Discovery: the sources of workers that come and go while the routers run. {@link io.kvasir.discovery.Discovery} reads
 * each source on one node of the cluster: a file of pods ({@code PodFile}), polled, and Kubernetes ({@code
 * KubernetesPods} by way of {@link io.kvasir.kubernetes.ObjectWatch}), listed and watched. Each declares the pods it
 * finds to {@link io.kvasir.cell.Cells#declare}, where the directory compares them with the roster; {@code SourceState}
 * keeps the faults for metrics and readiness.
 *
 * <p>Where a description names no models its engine is asked, through a {@link io.kvasir.discovery.PodLearner}, and
 * what it told of its {@link io.kvasir.discovery.LearntPod} completes the description: by {@code ConfiguredPods} for a
 * node's configuration, by {@code KubernetesPods} for its own. {@code EngineWatch}, on one node of the cluster, asks
 * again and has descriptions replaced that have become wrong.
 */
@NullMarked
package io.kvasir.discovery;

import org.jspecify.annotations.NullMarked;
