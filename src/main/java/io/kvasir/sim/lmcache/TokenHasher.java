package io.kvasir.sim.lmcache;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.commons.codec.digest.Blake3;

/**
 * The names that LMCache's multi-process mode gives to chunks by default ({@code multiprocess/token_hasher.py} of
 * LMCache 0.5.6): BLAKE3 of the name before and the tokens, each as four bytes, the highest first.
 */
final class TokenHasher {
  private static final int HASH_BYTES = 32;
  /** What the first chunk follows. */
  private static final byte[] NONE_HASH = next(new byte[Long.BYTES], new int[1], 0, 1);

  private TokenHasher() {}

  /** The name, in hexadecimal digits, of the chunk of {@code tokens} that follows the one named {@code before}. */
  static String next(String before, int[] tokens) {
    byte[] prefix = before.isEmpty() ? NONE_HASH : HexFormat.of().parseHex(before);
    return HexFormat.of().formatHex(next(prefix, tokens, 0, tokens.length));
  }

  /** The names, in hexadecimal digits, of the whole chunks of a prompt. */
  static List<String> chunks(int[] prompt, int chunkTokens) {
    List<String> names = new ArrayList<>();
    byte[] name = NONE_HASH;
    for (int from = 0; from + chunkTokens <= prompt.length; from += chunkTokens) {
      name = next(name, prompt, from, from + chunkTokens);
      names.add(HexFormat.of().formatHex(name));
    }
    return names;
  }

  private static byte[] next(byte[] before, int[] tokens, int from, int to) {
    ByteBuffer content = ByteBuffer.allocate(before.length + (to - from) * Integer.BYTES).put(before);
    for (int i = from; i < to; i++) {
      content.putInt(tokens[i]);
    }
    return Blake3.initHash().update(content.array()).doFinalize(HASH_BYTES);
  }
}
