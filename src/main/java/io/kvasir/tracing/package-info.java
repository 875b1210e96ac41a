/**
 * OpenTelemetry traces of requests. While a request is served its {@link io.kvasir.tracing.TracedRequest} notes what
 * happens to it: times, decisions, and the legs, which are the requests to workers. Each leg's own W3C
 * {@link io.kvasir.tracing.TraceContext} goes to its worker, so that the engine's span hangs under it. When the request
 * has ended {@link io.kvasir.tracing.Tracing} decides whether its spans are wanted; only then, and on a thread of
 * their own, are they built ({@code RequestSpans}) and sent over OTLP ({@code SpanExport}).
 *
 * <p>OpenTelemetry's SDK reads the standard environment variables and writes protobuf; it is loaded when tracing is on,
 * and not otherwise.
 */
@NullMarked
package io.kvasir.tracing;

import org.jspecify.annotations.NullMarked;
