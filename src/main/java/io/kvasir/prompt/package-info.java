/**
 * From a request to a chain: messages, text (chat template), tokens, block hashes. Done once per request on the node
 * where it arrived.
 *
 * <p>{@code Prompts} is the front. {@code PromptSource} finds the prompt in a body of any API ({@code ResponsesBody},
 * {@code MessagesBody} read theirs as chat completions); {@code PromptModel} turns it into a chain in its model's mode:
 * exact ({@code ChatRenderer} renders the template of room {@code template}, {@code PrefixMemo} has the tokens of room
 * {@code tokens} made and hashed, but for what it remembers), by the engine ({@code CachingEngineTokenizer}), or as
 * {@code TextChunks}. {@code Parity} and {@code ParityTracker} hold our tokens against the engine's while serving.
 */
@NullMarked
package io.kvasir.prompt;

import org.jspecify.annotations.NullMarked;
