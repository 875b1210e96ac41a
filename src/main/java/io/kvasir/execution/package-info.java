/**
 * Carries calls out: what goes in and what comes out of it. A {@link io.kvasir.execution.Call} is a request of the
 * gateway, a {@link io.kvasir.execution.Result} its response or the reason why there is none, with a {@link
 * io.kvasir.execution.Report} of how it went; a {@link io.kvasir.execution.CallListener} follows a response that
 * streams.
 *
 * <p>A call goes to {@code dispatch.Dispatcher}, which has the cells decide on a worker. The first try at a single
 * worker is an {@code attempt.Attempt} on the caller's thread: it sends the request through {@link
 * io.kvasir.http.client.PodClient} and owns the reservation, the connection and the deadlines until it has released
 * them, once. Several steps, a retry or a hedge are a workflow of package {@code workflow}, whose attempts follow the
 * protocols of package {@code dialect}. A response's bytes pass unchanged but for {@code stream.AnswerTap}, which reads
 * the usage, the first token and the errors along the way. A stream that its worker cut is continued by another in
 * {@code dispatch.Resumption}, where the profile allows it. The error body of a call without a response is the
 * gateway's.
 *
 * <p>Each package depends on those after it: {@code dispatch}, {@code workflow}, {@code attempt}, this one, {@code
 * stream} and {@code dialect}.
 */
@NullMarked
package io.kvasir.execution;

import org.jspecify.annotations.NullMarked;
