/**
 * A simulated inference engine: the OpenAI API over HTTP, vLLM's events over ZMQ, a paged prefix cache and the time a
 * real engine would take. The demo, the tests and the load tests run against it.
 *
 * <p>The path of a request: {@code http.SimHttpServer} reads it on its thread; {@code HttpApi} turns it into token ids
 * and a {@code GenerationRequest}; {@code RequestDispatcher} picks a rank and submits a {@code GeneratedSequence} per
 * answer to its {@code EngineCore}. That is one thread per rank, which plans steps with {@code enginemodel.Scheduler}
 * over {@code enginemodel.PagedCache}, lets their time pass, publishes the cache's changes through
 * {@code publisher.EventPublisher} and delivers the new tokens; {@code GenerationResponse} writes them out in a
 * {@code ResponseFormat}. Answers are {@code SyntheticText}: words of one token each, so that they are found in the
 * cache when they come back as history.
 *
 * <p>A request's transfers with other engines (prefill on one, decode on another) are read by
 * {@code transfer.TransferAgent} and carried out by {@code RequestTransfer}.
 *
 * <p>With {@code enginemodel.CacheGroup}s it serves a hybrid model, whose windows and states take blocks of their own.
 *
 * <p>With host memory ({@code enginemodel.HostTier}) prompts that the device has evicted are loaded back instead of
 * computed; {@code CacheReporter} reports its content to LMCache's controller and coordinator ({@code lmcache}).
 *
 * <p>{@code ControlApi} makes a running engine misbehave, {@code FaultInjector} single requests.
 *
 * <p>{@link io.kvasir.sim.SimEngine#start} starts an engine of given {@link io.kvasir.sim.SimSettings}.
 */
@NullMarked
package io.kvasir.sim;

import org.jspecify.annotations.NullMarked;
