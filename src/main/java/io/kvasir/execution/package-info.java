/**
 * Carries a request out. {@link io.kvasir.execution.Dispatcher} asks the cells for a worker, sends the
 * request to its pod through {@link io.kvasir.execution.PodClient}, and tries the next candidate while
 * nothing has reached the client. One try is an {@code Attempt}: it holds the reservation, the connection
 * and the deadlines, and lets go of them exactly once.
 *
 * <p>An answer's bytes pass unchanged and unparsed but for {@code AnswerTap}, which finds the first token,
 * the usage block, errors told inside a stream and the answer's own end. What the client is answered when
 * there is no worker, and in which API's words, is the gateway's.
 */
@NullMarked
package io.kvasir.execution;

import org.jspecify.annotations.NullMarked;
