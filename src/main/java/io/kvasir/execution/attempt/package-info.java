/**
 * One request at one worker. An {@link io.kvasir.execution.attempt.Attempt} sends a {@link
 * io.kvasir.execution.attempt.Task} and yields an {@link io.kvasir.execution.attempt.AttemptResult}; its {@code
 * PodExchange} holds the reservation, the connection and the {@code Deadlines} and releases them exactly once. A
 * response that streams goes to the client through an {@code AnswerRelay}, a WebSocket through a {@code
 * WebSocketRelay}. Whether a failed request may be tried again
 * is the {@link io.kvasir.execution.attempt.RetryPolicy}'s, by the {@link io.kvasir.execution.attempt.RetryState} of
 * the request and the {@link io.kvasir.execution.attempt.RetryBudget} of the node.
 */
@NullMarked
package io.kvasir.execution.attempt;

import org.jspecify.annotations.NullMarked;
