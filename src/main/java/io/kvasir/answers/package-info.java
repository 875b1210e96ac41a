/**
 * The response cache: whole answers to identical requests, kept and given again. The gateway asks it, nobody else.
 *
 * <p>A request's way: {@link io.kvasir.answers.AnswerCache#lookUp} has {@code Eligibility} say whether it may be
 * answered from the cache at all, {@code CanonicalRequest} write it down so that equal requests are equal bytes, and
 * the {@code AnswerStore} (this process's memory, or Redis) look for those. What is missing is got by a {@link
 * io.kvasir.answers.SharedResponse}, one for all who ask for the same at the same time where {@link
 * io.kvasir.answers.InFlightResponses} are shared, and kept if {@code AnswerCheck} finds it whole and without an error.
 *
 * <p>This room knows no HTTP and no worker: what an answer is to the gateway is a type parameter of the flights.
 */
@NullMarked
package io.kvasir.answers;

import org.jspecify.annotations.NullMarked;
