/**
 * Chat templates: from a chat request's messages to the text the model sees.
 *
 * <p>{@link io.kvasir.prompt.template.ChatTemplates} holds a model's templates and special tokens as Hugging Face
 * files give them. {@link io.kvasir.prompt.template.ChatPrompt} turns a request body into what a template reads,
 * as the engines do, and renders it. {@link io.kvasir.prompt.template.ChatTemplate} is one template: source, to
 * tokens ({@code Lexer}), to a tree ({@code Parser}, {@code Expr}, {@code Stmt}) that is walked once per
 * rendering ({@code RenderContext} holds a rendering's output and budget, {@code Frame} its variables).
 *
 * <p>The language is Jinja2 as {@code transformers} sets it up; the values are Python's ({@code Values},
 * {@code Text}, {@code Numbers}, {@code Json}), down to how a float is printed, because one byte of difference
 * makes every later block hash wrong. Its library is one file a family: {@code Filters}, {@code Tests},
 * {@code StringMethods}, {@code Globals}. Templates and conversations are untrusted: see
 * {@link io.kvasir.prompt.template.RenderLimits}.
 */
@NullMarked
package io.kvasir.prompt.template;

import org.jspecify.annotations.NullMarked;
