/**
 * Time. {@link io.kvasir.time.NanoClock} measures durations, {@link io.kvasir.time.TimeSlice} is how long the kernel
 * lets a thread run; wall-clock time is {@link java.time.InstantSource}. Classes that measure time get their clock from
 * the wiring.
 */
@NullMarked
package io.kvasir.time;

import org.jspecify.annotations.NullMarked;
