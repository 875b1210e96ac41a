/**
 * Conversations in OpenAI's Harmony format, in which gpt-oss was trained and for which vLLM and TensorRT-LLM use no
 * chat template, nor SGLang for {@code /v1/responses}: messages with an author, a recipient and a channel, between
 * tokens that no text can contain.
 *
 * <p>{@link io.kvasir.prompt.harmony.Harmony} says which engines read what in it. {@code VllmHarmony} and {@code
 * TensorRtHarmony} make {@code HarmonyMessage}s of a chat completion. Bodies of {@code /v1/responses} become {@code
 * HarmonyMessages}, by {@code SglangHarmonyBody}, {@code TensorRtHarmonyBody} and {@code EarlyVllmHarmonyBody}, or a
 * chat completion, by {@code VllmHarmonyBody}. Messages print themselves into a {@code HarmonyText}; {@code
 * ToolDeclarations} declares tools in TypeScript, and {@code JsonLiteral} prints values, as the reference library does.
 * Format and library: github.com/openai/harmony.
 */
@NullMarked
package io.kvasir.prompt.harmony;

import org.jspecify.annotations.NullMarked;
