/**
 * Advice for KEDA: {@link io.kvasir.scale.keda.ExternalScaler} answers its external scaler protocol
 * ({@code ScalerProtocol}) from the latest {@link io.kvasir.scale.live.ScaleReport}. A {@code ScaledObject} names the
 * model and role that it scales.
 */
@NullMarked
package io.kvasir.scale.keda;

import org.jspecify.annotations.NullMarked;
