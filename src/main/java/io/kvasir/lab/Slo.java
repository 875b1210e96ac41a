package io.kvasir.lab;

/**
 * The service-level objective of a request.
 *
 * @param ttftMs milliseconds to the first token at most
 * @param tpotMs milliseconds per further token at most, on average over the answer
 */
public record Slo(double ttftMs, double tpotMs) {}
