/**
 * What the engines tell us. An {@link io.kvasir.events.EventSource} brings one worker's messages as a stream
 * of {@link io.kvasir.events.KvBatch}es, in order, with the gaps and restarts it noticed between them. What
 * the events mean for the index is decided in the cell; the index never learns which transport spoke.
 *
 * <p>Data passes so: a transport's thread reads ({@code ZmqLoop} and {@code ZmqSubscription} many sockets on a few
 * threads, a {@code Puller} one worker's on a virtual thread, {@link io.kvasir.events.PushEvents} whoever is pushed
 * to), a decoder turns payloads into {@link io.kvasir.events.KvEvent}s, the {@code Sequencer} puts numbered messages in
 * order, drops what came twice and notices what is missing, a bounded {@code BatchQueue} hands them to the stream. A
 * full queue stops the reading, so what waits waits where it can be kept.
 *
 * <p>A transport to come needs a class beside {@link io.kvasir.events.RedisEvents}, a {@code Puller.Transport}, and a
 * test that passes {@code SourceConformance}; decoders, sequencer and queue know of none.
 */
@NullMarked
package io.kvasir.events;

import org.jspecify.annotations.NullMarked;
