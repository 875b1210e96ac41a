/**
 * Text to token ids, exactly as the engines' own tokenizers do it: from a Hugging Face {@code tokenizer.json}.
 *
 * <p>{@code Tokenizer.of} picks the way: a byte-pair tokenizer of ours for the kinds it reproduces id by id, the
 * Hugging Face library for all others. Both work on UTF-8 bytes and can say where a text may be cut so that its
 * pieces tokenise independently, which is what remembering prefixes rests on.
 */
@NullMarked
package io.kvasir.prompt.tokens;

import org.jspecify.annotations.NullMarked;
