/**
 * Conversations as engines prepare them: from a request's body to the text that the model reads. One byte of difference
 * makes every later block hash wrong, so each engine's rules are followed to the letter, by its make and version.
 *
 * <p>An {@link io.kvasir.prompt.chat.EngineVersion} says which engine it is; {@code VllmRule}, {@code SglangRule} and
 * {@code TensorRtRule} are what changed between the versions of each, and engines of one {@link
 * io.kvasir.prompt.chat.EngineGroup} prepare alike. {@link io.kvasir.prompt.chat.ChatBodies} makes a chat completion of
 * a body of another API, with what the engine finds out of the model's templates ({@link
 * io.kvasir.prompt.chat.MessagesRules}). {@link io.kvasir.prompt.chat.TemplateRenderer} makes the template's variables
 * of a chat completion and renders it (package {@code template}): messages and tools by {@code VllmMessages} and {@code
 * VllmTools}, {@code SglangChat} or {@code TensorRtChat}. Files that begin with the name of an engine are for that
 * one.
 */
@NullMarked
package io.kvasir.prompt.chat;

import org.jspecify.annotations.NullMarked;
