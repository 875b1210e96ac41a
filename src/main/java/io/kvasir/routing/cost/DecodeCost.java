package io.kvasir.routing.cost;

/**
 * The time of one decode step of an engine, in which each of its answers gets a token: {@code stepMs + msPerSequence ·
 * answers + msPerContextToken · context tokens of all}.
 *
 * @param stepMs ms of a step however many answers share it: the weights are read once, and scheduling
 * @param msPerSequence ms per answer in it
 * @param msPerContextToken ms per token of the answers' context, as in {@link EngineCost}
 * @param kvTokens tokens its KV cache holds
 */
public record DecodeCost(double stepMs, double msPerSequence, double msPerContextToken, double kvTokens) {}
