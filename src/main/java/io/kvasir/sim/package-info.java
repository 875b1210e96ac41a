/**
 * A simulated inference engine: the OpenAI API over HTTP, vLLM's events over ZMQ, a paged prefix cache and the time a
 * real engine would take. The demo, the tests and the load tests run against it.
 *
 * <p>{@link io.kvasir.sim.SimEngine#start} starts an engine of given {@link io.kvasir.sim.settings.SimSettings}, which
 * can crash and start again. What it has from a start to a crash is an {@code EngineProcess}, put together from these
 * rooms, of which each knows only those named after it:
 *
 * <ol>
 *   <li>{@code sim.api}: the APIs that generate. A request becomes token ids there and a {@code GenerationRequest}.
 *   <li>{@code sim.operations}: everything else that is asked of an engine: its health, its load, what it is, and the
 *       paths that make it misbehave.
 *   <li>{@code sim.core}: the request is given to a rank, computed with {@link io.kvasir.enginemodel} while the time
 *       passes that this takes, and answered token by token.
 *   <li>{@code sim.text}: the model's tokenizer and template, and the words that it answers with.
 *   <li>{@code sim.json}: bodies and errors as the engine's API has them.
 *   <li>{@code sim.settings}: what an engine is started with, from its speed to its faults.
 *   <li>{@code sim.lmcache}, {@code sim.transfer} and {@code sim.publisher}: what it does with KV blocks beyond its own
 *       cache. Host memory is reported to LMCache, blocks are handed over to other engines, and the cache's events
 *       published.
 *   <li>{@code sim.http}: the server.
 * </ol>
 *
 * <p>To start an engine, this package and the settings are enough.
 */
@NullMarked
package io.kvasir.sim;

import org.jspecify.annotations.NullMarked;
