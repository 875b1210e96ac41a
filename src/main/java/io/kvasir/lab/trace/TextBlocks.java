package io.kvasir.lab.trace;

import io.kvasir.routing.Hashing;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The blocks of a conversation that is recorded as text. No tokenizer is needed: four bytes of UTF-8 count as a token,
 * which English text has on average. A block's number is a hash of everything up to its end.
 */
final class TextBlocks {
  static final int BYTES_PER_TOKEN = 4;

  private final int blockBytes;
  private long[] ids = new long[16];
  private int blocks;
  private long bytes;
  private long hash = Hashing.of("");

  /** The blocks of an empty text. */
  TextBlocks(int blockSize) {
    this.blockBytes = blockSize * BYTES_PER_TOKEN;
  }

  /** Adds what somebody wrote, in place of a chat template with its name. */
  void add(String author, String text) {
    add(author.getBytes(StandardCharsets.UTF_8));
    add(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Adds an answer of which only the length is known, and which is another than any other. */
  void addUnknown(int tokens, long number) {
    for (long i = 0; i < (long) tokens * BYTES_PER_TOKEN; i++) {
      add((byte) (number >>> (8 * (i & 7))));
    }
  }

  private void add(byte[] text) {
    for (byte each : text) {
      add(each);
    }
    add((byte) '\n');
  }

  private void add(byte each) {
    hash = (hash ^ (each & 0xff)) * 0x100000001B3L; // FNV-1a
    if (++bytes % blockBytes == 0) {
      if (blocks == ids.length) {
        ids = Arrays.copyOf(ids, blocks * 2);
      }
      ids[blocks++] = Hashing.mix(hash);
    }
  }

  /** Tokens of everything so far, at least 1. */
  int tokens() {
    return (int) Math.max(1, bytes / BYTES_PER_TOKEN);
  }

  /** The numbers of the full blocks so far. */
  long[] ids() {
    return Arrays.copyOf(ids, blocks);
  }
}
