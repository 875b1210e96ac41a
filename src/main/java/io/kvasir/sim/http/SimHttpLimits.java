package io.kvasir.sim.http;

import java.time.Duration;

/**
 * What a connection may cost.
 *
 * @param bodyBytes largest request body; above, 413
 * @param idle how long a connection may wait for its next request
 */
public record SimHttpLimits(int bodyBytes, Duration idle) {}
