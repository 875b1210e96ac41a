/**
 * What an examination finds at engines and nodes, and how it is gathered. An {@link
 * io.kvasir.doctor.exam.EngineExaminer} asks one engine what it is, subscribes to its events, sends two short requests
 * that generate one token each, and compares what its events promised with what the second one was served from the
 * cache; the result is an {@link io.kvasir.doctor.exam.EngineExam}, which judges nothing. Then a {@link
 * io.kvasir.doctor.exam.HandOverExaminer} divides a request between prefill and decode engines, as the router does.
 *
 * <p>Nothing here changes an engine or a router: the requests have a salt of their own, and of a replay no more is
 * asked than the last {@value io.kvasir.doctor.exam.ReplayExam#BATCHES} batches.
 */
@NullMarked
package io.kvasir.doctor.exam;

import org.jspecify.annotations.NullMarked;
