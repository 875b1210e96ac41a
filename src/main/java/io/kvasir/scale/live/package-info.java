/**
 * Advice for autoscalers in a running cluster. {@link io.kvasir.scale.live.ScaleMonitor} has the homes of all cells
 * describe their workers every few seconds; {@code DemandMeter} makes the demand on each model and role of it, advisors
 * of {@code io.kvasir.scale} the {@link io.kvasir.scale.live.ScaleReport}. One node does so and publishes it to all,
 * which show it: as metrics ({@link io.kvasir.scale.live.ScaleGauges}), to operators and to KEDA.
 */
@NullMarked
package io.kvasir.scale.live;

import org.jspecify.annotations.NullMarked;
