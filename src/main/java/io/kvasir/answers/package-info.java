/**
 * The response cache: whole answers to identical requests, kept and given again. Only the gateway uses it.
 *
 * <p>For a request, {@link io.kvasir.answers.AnswerCache#lookUp} has {@code Eligibility} decide whether it may be
 * answered from the cache at all, {@code CanonicalRequest} write it down so that equal requests are equal bytes, and
 * the {@code AnswerStore} (this process's memory, or Redis) look for those. A miss is answered by a {@link
 * io.kvasir.answers.SharedResponse}, one for all identical requests at a time where {@link
 * io.kvasir.answers.InFlightResponses} are shared, and kept if {@code AnswerCheck} finds it whole and without an error.
 *
 * <p>This package knows no connection and no worker: what an answer is to the gateway is a type parameter.
 */
@NullMarked
package io.kvasir.answers;

import org.jspecify.annotations.NullMarked;
