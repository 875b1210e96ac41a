package io.kvasir.lab;

/**
 * What an answer must keep to for its request to count as good.
 *
 * @param ttftMs milliseconds to the first token at most
 * @param tpotMs milliseconds per further token at most, on average over the answer
 */
public record Slo(double ttftMs, double tpotMs) {}
