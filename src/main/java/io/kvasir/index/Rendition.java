package io.kvasir.index;

/**
 * A prompt as some engines prepare it: those of another make or version make another text of the same conversation, and
 * so another chain.
 *
 * @param preparation the name of how these engines prepare prompts
 * @param chain its blocks; empty when nothing is known of it
 * @param tokens its tokens, estimated where they could not be counted
 */
public record Rendition(String preparation, Chain chain, int tokens) {}
