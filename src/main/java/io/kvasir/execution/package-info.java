/**
 * Carries a request out. {@link io.kvasir.execution.workflow.Dispatcher} asks the cells for a plan and sends the
 * request of a single worker there through {@link io.kvasir.http.client.PodClient}, on the caller's thread. A plan of
 * several steps, or a retry, gets a workflow actor: {@code WorkflowTransitions} decides which step starts when and what
 * a failure leads to, {@code StepTasks} what each worker is sent, by the dialects of package {@code dialect}. One
 * request at one worker is an {@code Attempt}: it holds the reservation, the connection and the deadlines, and lets go
 * of them exactly once.
 *
 * <p>An answer's bytes pass unchanged and unparsed but for {@code AnswerTap}, which finds the first token, the usage
 * block, errors told inside a stream and the answer's own end. Only where a profile has cut streams resumed, their
 * events are read: a {@code Resumption} has another worker say the rest. What the client is answered when there is no
 * worker, and in which API's words, is the gateway's.
 */
@NullMarked
package io.kvasir.execution;

import org.jspecify.annotations.NullMarked;
