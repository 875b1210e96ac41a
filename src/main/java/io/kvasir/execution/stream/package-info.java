/**
 * Filters and observers of answers between a worker and the client. {@link io.kvasir.execution.stream.AnswerTap} reads
 * from an answer's bytes what the router must know of it, {@link io.kvasir.execution.stream.UsageFilter} removes the
 * usage event a client did not request, and {@link io.kvasir.execution.stream.StitchedStream} joins the streams of
 * several workers into one: {@code StitchedEvents} is what each API has of its own for that.
 */
@NullMarked
package io.kvasir.execution.stream;

import org.jspecify.annotations.NullMarked;
