/**
 * Where time comes from. {@link io.kvasir.time.NanoClock} measures durations; wall-clock time is {@link
 * java.time.InstantSource}. Nothing outside the wiring reads a clock that it was not given.
 */
@NullMarked
package io.kvasir.time;

import org.jspecify.annotations.NullMarked;
