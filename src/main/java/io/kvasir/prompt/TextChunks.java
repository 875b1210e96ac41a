package io.kvasir.prompt;

import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Blocks of a text whose tokens are not known: 32 bytes of its UTF-8 each. A token is four bytes of English on average,
 * so such a block counts as 8 tokens, and depths and prompt lengths have the same unit in every mode.
 *
 * @param chain of the full chunks
 * @param tokens estimated tokens of the whole text: a quarter of its bytes, in every script
 */
record TextChunks(Chain chain, int tokens) {
  static final int BYTES = 32;
  static final int TOKENS = BYTES / Integer.BYTES;

  /** The chunks of a text, in a namespace of blocks. */
  static TextChunks of(BlockHash hash, String text) {
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    int[] words = new int[utf8.length / BYTES * TOKENS];
    ByteBuffer.wrap(utf8).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(words);
    long[] hashes = new long[words.length / TOKENS];
    hash.chain(BlockHash.NONE, words, 0, words.length, TOKENS, hashes, 0);
    return new TextChunks(new Chain(hashes, TOKENS), utf8.length / Integer.BYTES);
  }
}
