/**
 * The telemetry of a node: the Prometheus registry in which every package registers its metrics
 * ({@link io.kvasir.telemetry.Metrics}), and the log of sampled routing decisions
 * ({@link io.kvasir.telemetry.DecisionLog}), whose {@link io.kvasir.telemetry.DecisionRecord}s are kept in memory,
 * written as JSON lines, and replayed by the laboratory. This package imports no other package of Kvasir.
 */
@NullMarked
package io.kvasir.telemetry;

import org.jspecify.annotations.NullMarked;
