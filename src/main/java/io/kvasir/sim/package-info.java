/**
 * A simulated engine: the OpenAI API over HTTP, vLLM's events over ZMQ, a paged prefix cache and the
 * time a real engine would take. The demo, the tests and the load tests run against it.
 *
 * <p>A request's way: {@code http.HttpServer} reads it on a virtual thread; {@code HttpApi} turns it into
 * token ids and a {@code GenerationRequest}; {@code RequestDispatcher} picks a rank and submits a {@code
 * GeneratedSequence} per answer to its {@code EngineCore}, one thread per rank, which plans steps with {@code
 * engine.Scheduler} over {@code engine.PagedCache}, lets their time pass, sends what changed in the cache through
 * {@code publisher.EventPublisher} and shows the new tokens; the Desk writes them out in an
 * {@code ResponseFormat}. Answers are {@code SyntheticText}: words that are one token each, so that they are found in
 * the cache when they come back as history.
 *
 * <p>What a request has to do with other engines (prefill here, decode there) is read by
 * {@code transfer.TransferAgent} and carried out by {@code RequestTransfer}.
 *
 * <p>With host memory ({@code engine.HostTier}) prompts that the device forgot are loaded back instead of computed;
 * {@code CacheReporter} tells an LMCache controller what is there, in {@code lmcache}'s words.
 *
 * <p>Others start one with {@link io.kvasir.sim.SimEngine#start}. The {@code engine} package knows neither
 * clock nor socket, so the trace laboratory can drive it in simulated time.
 */
@NullMarked
package io.kvasir.sim;

import org.jspecify.annotations.NullMarked;
