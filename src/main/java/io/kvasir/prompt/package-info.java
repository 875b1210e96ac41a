/**
 * Prompts: from a request's body to the chain of its block hashes, by way of messages, text (chat template) and tokens.
 * Done once per request on the node where it arrived.
 *
 * <p>{@link io.kvasir.prompt.Prompts} is the entry point; {@link io.kvasir.prompt.PreparationLimiter} limits how many
 * large requests are read and prepared at a time. {@code PromptSource} finds the prompt in the body of any API; bodies
 * of other APIs become chat completions as their engines make them (package {@code chat}). {@code KnownEngines} are
 * those for which that is done; a prompt that they make differently has an {@link io.kvasir.index.Rendition} for each.
 * A {@link io.kvasir.prompt.PromptModel} prepares it in its model's mode: in exact mode {@code ChatRenderer} renders
 * the conversation by the chat template (packages {@code chat} and {@code template}) or in the Harmony format (package
 * {@code harmony}), and {@code PrefixMemo} tokenises (package {@code
 * tokens}) and hashes the text, except for cached prefixes; in engine mode, and where nothing can be rendered here,
 * {@code CachingEngineTokenizer} calls the engine's {@code /tokenize}; in text mode {@code TextChunks} hashes the
 * text itself. {@link io.kvasir.prompt.Parity} is the result of comparing our tokens with the engine's while serving:
 * {@code ParityChecker} compares, prompts of our own and a sample of clients'; after differences {@code
 * ParityTracker} switches prompts of their shape, or all of the model, to engine mode.
 */
@NullMarked
package io.kvasir.prompt;

import org.jspecify.annotations.NullMarked;
