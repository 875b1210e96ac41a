package io.kvasir.lab;

/**
 * The mean lengths and pauses of a generator's conversations.
 *
 * @param turns turns of each
 * @param system tokens of the system prompt before the first turn
 * @param input tokens each turn adds to the prompt, on average
 * @param output tokens of each answer, on average
 * @param thinkMs mean of the exponentially distributed time between an answer and the next turn
 * @param blockSize tokens in a block
 */
record ConversationShape(int turns, int system, int input, int output, double thinkMs, int blockSize) {}
