/**
 * Chat templates: their language, from a template's variables to text.
 *
 * <p>{@link io.kvasir.prompt.template.ChatTemplates} holds a model's templates and special tokens as Hugging Face
 * files have them; {@link io.kvasir.prompt.template.RequestTemplate} is the one that a request asks for. {@link
 * io.kvasir.prompt.template.ChatTemplate} is one template: source, to tokens ({@code Lexer}), to a tree ({@code
 * Parser}, {@code Expr}, {@code Stmt}, {@code Scopes}) that is walked once per rendering ({@code RenderContext} has a
 * rendering's output, {@code RenderBudget} what is left of its limits, {@code Frame} its variables). {@link
 * io.kvasir.prompt.template.ContentUse} is what engines look for in a template. What they give it is made in package
 * {@code chat}.
 *
 * <p>The language is Jinja2 as {@code transformers} sets it up; the values are Python's ({@code Values},
 * {@code Text}, {@code Numbers}, {@code Json}), down to how a float is printed, because one byte of difference
 * makes every later block hash wrong. Its library is one file a family: {@code Filters}, {@code Tests},
 * {@code StringMethods}, {@code Globals}.
 *
 * <p>Why an implementation of our own: jinjava, the Java library for Jinja, rendered 51 of 68 real templates as the
 * reference does, and is silently wrong on {@code not x is defined}, where a wrong prompt is not an error but a cache
 * miss. Templates and conversations are also untrusted and need limits on steps, characters, nesting and time ({@link
 * io.kvasir.prompt.template.RenderLimits}), which it does not have: every operation charges what it is about to do and
 * to make, and one that is added has to as well. Against the reference, Jinja2 as {@code transformers} sets it up, 328
 * templates in 88,155 renderings showed no difference; the tests keep a corpus of them.
 */
@NullMarked
package io.kvasir.prompt.template;

import org.jspecify.annotations.NullMarked;
