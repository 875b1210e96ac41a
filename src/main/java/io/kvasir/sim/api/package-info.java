/**
 * The APIs with which a simulated engine is made to generate: OpenAI's and Anthropic's, as engines serve them.
 *
 * <p>{@link io.kvasir.sim.api.HttpApi} is the HTTP server's handler. {@code RequestRules} and {@code ToolRules} refuse
 * what is wrong as vLLM does; {@code GenerationApi} has {@code PromptReader} make tokens of a request, {@code
 * SamplingReader} read where its answers end, and {@code OutputReader} what they have to be: a {@code RequiredOutput},
 * a call of a tool or text of a form. {@code core.RequestDispatcher} has them computed, and writes them in the format
 * of the API: {@code ChatFormat}, {@code CompletionFormat}, {@code ResponsesFormat} or {@code MessagesFormat}. {@code
 * EmbeddingsApi} has prompts read and nothing generated. Images and sounds in conversations are encoded first, or taken
 * from an encoder ({@link io.kvasir.sim.api.EncoderCache}).
 *
 * <p>{@link io.kvasir.sim.api.FaultInjector} decides what goes wrong with a request. What is no generation is passed on
 * to {@code sim.operations}.
 */
@NullMarked
package io.kvasir.sim.api;

import org.jspecify.annotations.NullMarked;
