/**
 * The APIs with which a simulated engine is made to generate: OpenAI's and Anthropic's, as engines serve them.
 *
 * <p>{@link io.kvasir.sim.api.HttpApi} is the HTTP server's handler. Of a request {@code PromptReader} makes tokens;
 * {@code core.RequestDispatcher} has them computed, and writes the answer in the format of its API: {@code
 * CompletionFormat}, {@code ResponsesFormat} or {@code MessagesFormat}. {@code EmbeddingsApi} has prompts read and
 * nothing generated. Images and sounds in conversations are encoded first, or taken from an encoder ({@link
 * io.kvasir.sim.api.EncoderCache}).
 *
 * <p>{@link io.kvasir.sim.api.FaultInjector} decides what goes wrong with a request. What is no generation is passed on
 * to {@code sim.operations}.
 */
@NullMarked
package io.kvasir.sim.api;

import org.jspecify.annotations.NullMarked;
