/**
 * What the engines tell us. An {@link io.kvasir.events.EventSource} brings one worker's messages as a stream
 * of {@link io.kvasir.events.KvBatch}es, in order, with the gaps and restarts it noticed between them. What
 * the events mean for the index is decided in the cell; the index never learns which transport spoke.
 *
 * <p>Data passes so: a transport's thread reads frames ({@code ZmqLoop}, {@code ZmqLink}), the
 * {@link io.kvasir.events.EventDecoder} turns a payload into {@link io.kvasir.events.KvEvent}s, the
 * {@code Sequencer} puts messages in order and asks for replays, a bounded {@code BatchQueue} hands them to
 * the stream. A transport to come needs a class beside {@link io.kvasir.events.ZmqEvents}; decoder,
 * sequencer and queue know nothing of ZMQ.
 */
@NullMarked
package io.kvasir.events;

import org.jspecify.annotations.NullMarked;
