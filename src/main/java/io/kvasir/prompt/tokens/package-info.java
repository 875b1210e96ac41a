/**
 * Tokenizers: from text to token ids, exactly as the engines' tokenizers do it, by a Hugging Face {@code
 * tokenizer.json}.
 *
 * <p>{@link io.kvasir.prompt.tokens.Tokenizer#of} selects the implementation: {@code BytePairTokenizer}, our own, for
 * the types of tokenizer that it reproduces id by id, and {@code NativeTokenizer}, the Hugging Face library, for all
 * others. Both work on UTF-8 bytes and find the places where a text may be cut so that its pieces tokenise
 * independently, which the cache of prompt prefixes depends on.
 *
 * <p>Why an implementation of our own: it takes a tenth of the library's time and never leaves the JVM. When a
 * tokenizer is loaded, it is checked against the library on a text of scripts, white space, digits and code; after a
 * difference the library is used instead.
 */
@NullMarked
package io.kvasir.prompt.tokens;

import org.jspecify.annotations.NullMarked;
