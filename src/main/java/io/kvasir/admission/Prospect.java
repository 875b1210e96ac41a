package io.kvasir.admission;

/**
 * What a request may expect of the worker that it would get now.
 *
 * @param promptTokens of its prompt, at least 1
 * @param uncachedTokens of these, what the worker would have to compute: at least 1
 * @param queueMs estimated milliseconds of work that is queued there before it and not yet done
 * @param known whether the estimates are those of a known engine, or learnt from its answers: otherwise they are of the
 *     right order at best
 * @param places requests that all workers which do the work of this one may have in flight; 0 where nobody has rivals
 * @param freePlaces of these, what is left when the request has gone, at workers that have no more queued than its
 *     class allows
 */
public record Prospect(
    int promptTokens, int uncachedTokens, double queueMs, boolean known, int places, int freePlaces) {}
