/**
 * What the engines tell us. A source (ZMQ, …) brings an engine's messages, a codec turns their bytes
 * into {@code KvEvent}s, and the source's stream hands them on, in order, with the gaps and restarts
 * it noticed. What the events mean for the index is decided in the cell; the index never learns which
 * transport spoke.
 */
@NullMarked
package io.kvasir.events;

import org.jspecify.annotations.NullMarked;
