/**
 * The KV-cache events of engines. An {@link io.kvasir.events.EventSource} is one worker's stream of
 * {@link io.kvasir.events.KvBatch}es, in order, with the gaps and restarts that were noticed between them. The cell
 * applies the events to its index, which knows no transport.
 *
 * <p>An {@link io.kvasir.events.EventFeed} is the configuration of a stream and opens its source over the node's
 * {@link io.kvasir.events.EventTransports}. There a thread reads the transport: a {@code ZmqLoop} the sockets of many
 * workers, a {@code Puller} one worker's stream on a virtual thread, {@link io.kvasir.events.PushEvents} the bodies of
 * HTTP requests. A decoder turns payloads into {@link io.kvasir.events.KvEvent}s; the {@code Sequencer} puts numbered
 * messages in order, drops duplicates and detects gaps; a bounded {@code BatchQueue} hands them to the stream. While
 * the queue is full its transport is not read, so that messages stay where they are kept.
 *
 * <p>Over ZMQ a {@code ZmqSubscription} has the socket of the live messages, and its {@code ZmqStream} requests what is
 * missing from the engine's replay ({@code ZmqReplay}); where the engine offers it, a snapshot of all it holds ({@link
 * io.kvasir.events.SnapshotFormat}, {@code ZmqSnapshot}) stands for what the replay does not have. It is taken whole or
 * not at all ({@code SnapshotAssembly}).
 *
 * <p>A new transport needs a class ({@code Puller.Transport}, as {@code RedisTransport} is), an {@code EventFeed} that
 * opens it, named in that interface's list, a line in the configuration's reader, and a test that passes
 * {@code SourceConformance}. Decoders, sequencer, queue and wiring know none of them.
 */
@NullMarked
package io.kvasir.events;

import org.jspecify.annotations.NullMarked;
