/**
 * How a simulated engine computes a request. {@link io.kvasir.sim.core.RequestDispatcher} takes a {@link
 * io.kvasir.sim.core.GenerationRequest} on the request's own thread, chooses a rank, and submits a {@link
 * io.kvasir.sim.core.GeneratedSequence} per answer to its {@link io.kvasir.sim.core.EngineCore}. That is one thread per
 * rank, which plans steps with {@code enginemodel.Scheduler} over {@code enginemodel.PagedCache}, lets their time pass,
 * publishes the cache's changes and delivers the new tokens. {@code GenerationResponse} waits for these and writes them
 * out in a {@link io.kvasir.sim.core.ResponseFormat}, which is the API's. What an answer is to be when it is more than
 * text is its {@link io.kvasir.sim.core.AnswerPlan}; {@link io.kvasir.sim.core.StopConditions} end it early.
 *
 * <p>{@code RequestTransfer} carries out the request's transfers with other engines (prefill on one, decode on
 * another). {@code CacheReporter} passes on what changes in the cache, and in host memory where the engine has some
 * ({@code enginemodel.HostTier}): to the events' {@code publisher} and to {@code lmcache}. With {@code
 * enginemodel.CacheGroup}s the cache is a hybrid model's, whose windows and states take blocks of their own.
 *
 * <p>{@link io.kvasir.sim.core.EngineMetrics} counts all of it under the engine's own names.
 */
@NullMarked
package io.kvasir.sim.core;

import org.jspecify.annotations.NullMarked;
