/**
 * The vital figures of the cluster: each node's {@link io.kvasir.gateway.admin.vitals.VitalsMeter} measures its own,
 * {@link io.kvasir.gateway.admin.vitals.ClusterVitals} brings those of all nodes together, and {@link
 * io.kvasir.gateway.admin.vitals.VitalsHandler} shows their sums and each node's part of them. What nodes tell each
 * other are rates and bucket counts, which add up; shares and quantiles are taken of the sums.
 */
@NullMarked
package io.kvasir.gateway.admin.vitals;

import org.jspecify.annotations.NullMarked;
