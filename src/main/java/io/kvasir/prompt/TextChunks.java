package io.kvasir.prompt;

import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Blocks of a text whose tokens are not known: 32 bytes of its UTF-8 each. A token is four bytes of English on average,
 * so such a block counts as 8 tokens, and depths and prompt lengths have the same unit in every mode.
 */
final class TextChunks {
  static final int BYTES = 32;
  static final int TOKENS = BYTES / Integer.BYTES;

  private TextChunks() {}

  /** The chain of the full chunks of {@code text}. */
  static Chain chain(BlockHash hash, String text) {
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    int[] words = new int[utf8.length / BYTES * TOKENS];
    ByteBuffer.wrap(utf8).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(words);
    long[] hashes = new long[words.length / TOKENS];
    hash.chain(BlockHash.NONE, words, 0, words.length, TOKENS, hashes, 0);
    return new Chain(hashes, TOKENS);
  }

  /** Estimated tokens of a text. */
  static int tokens(String text) {
    return text.length() / Integer.BYTES;
  }
}
