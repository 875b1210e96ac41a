/**
 * Keeps streams that are silent for long from being cut on their way back.
 *
 * <p>{@link io.kvasir.gateway.keepalive.KeepAlives} watches streams from the time when they are requested; a {@link
 * io.kvasir.gateway.keepalive.KeepAlive} is the sink of one, through which its answer passes, and writes what the API
 * has for a keep-alive in its pauses.
 */
@NullMarked
package io.kvasir.gateway.keepalive;

import org.jspecify.annotations.NullMarked;
