/**
 * What a running engine is, asked over HTTP. {@link io.kvasir.engines.EngineInquiry} asks; an {@link
 * io.kvasir.engines.EngineDescription} is the answer: the engine's kind and version, its models, its KV cache, how it
 * publishes the cache's events and hands KV blocks over, and for all that it does not tell the flag or line that would.
 *
 * <p>An {@link io.kvasir.engines.EngineSurvey} finds out what an engine shows without telling, too; a {@link
 * io.kvasir.engines.SurveyedEngine} as settings of a pod is {@link io.kvasir.engines.PodSettings}, and where a model's
 * files are on this machine its {@link io.kvasir.engines.ModelSearch} finds.
 *
 * <p>{@code EngineAnswers} has the pages of one engine as they came; a {@code DescriptionReader} of the engine's kind
 * reads them. Asking changes nothing in an engine, generates nothing, and takes nothing that another reader is to have:
 * TensorRT-LLM's events and statistics are given once, and are left alone.
 */
@NullMarked
package io.kvasir.engines;

import org.jspecify.annotations.NullMarked;
