package io.kvasir.prompt.tokens;

import ai.djl.engine.EngineException;
import ai.djl.huggingface.tokenizers.jni.LibUtils;
import ai.djl.huggingface.tokenizers.jni.TokenizersLibrary;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A tokenizer by the Hugging Face library, for every type of tokenizer.
 *
 * <p>It is called through DJL's native methods and not through DJL's {@code HuggingFaceTokenizer}, which copies every
 * token's text, offsets and masks out of the library (most of its time) and by default cuts texts at 512 tokens. The
 * library's object is freed when this one is unreachable, so that it cannot be used after that.
 */
final class NativeTokenizer extends Tokenizer {
  private static final Cleaner CLEANER = Cleaner.create();

  /**
   * The longest text that the library is given at once, in bytes. No call can be interrupted, and it takes 0.75 s of a
   * processor and 100 MB for a mebibyte: what models are sent has no message that comes near it.
   */
  private static final int MAX_CALL = 1 << 20;

  private final long handle;
  private final AddedTokens added;
  private final boolean breaks;
  private final int[] before;
  private final int[] after;

  private NativeTokenizer(long handle, AddedTokens added, boolean breaks) {
    this.handle = handle;
    this.added = added;
    this.breaks = breaks;
    CLEANER.register(this, () -> TokenizersLibrary.LIB.deleteTokenizer(handle));
    int[] bare = idsOf("a", false);
    int[] wrapped = idsOf("a", true);
    int start = indexOf(wrapped, bare);
    before = Arrays.copyOf(wrapped, start);
    after = Arrays.copyOfRange(wrapped, start + bare.length, wrapped.length);
  }

  static NativeTokenizer of(String text, JsonNode json, boolean breaks) throws IOException {
    // The natives in the jar are for CPUs; on a machine with a GPU the library would look for others on the network.
    if (System.getenv("RUST_FLAVOR") == null && System.getProperty("RUST_FLAVOR") == null) {
      System.setProperty("RUST_FLAVOR", "cpu");
    }
    try {
      LibUtils.checkStatus();
      long handle = TokenizersLibrary.LIB.createTokenizerFromString(text);
      TokenizersLibrary.LIB.disableTruncation(handle);
      TokenizersLibrary.LIB.disablePadding(handle);
      return new NativeTokenizer(handle, AddedTokens.of(json.path("added_tokens"), false, breaks), breaks);
    } catch (EngineException | UnsatisfiedLinkError e) {
      throw new IOException("the native tokenizer library does not load: " + e.getMessage(), e);
    } catch (RuntimeException e) {
      throw new IOException("not a tokenizer.json that the tokenizers library reads: " + e.getMessage(), e);
    }
  }

  @Override
  public int[] before() {
    return before;
  }

  @Override
  public int[] after() {
    return after;
  }

  @Override
  public String decode(int[] ids) {
    long[] wide = new long[ids.length];
    for (int i = 0; i < ids.length; i++) {
      wide[i] = ids[i];
    }
    try {
      return TokenizersLibrary.LIB.decode(handle, wide, false);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /** Cuts before added tokens only: where the text between them may be cut depends on the library's pre-tokenizer. */
  @Override
  public int cut(byte[] text, int from) {
    return added.cut(text, from, Integer.MAX_VALUE);
  }

  /**
   * Encodes a piece. One that is not the first begins with an added token, so no rule for a text's start applies.
   * Longer texts than one call may have are encoded piece by piece.
   */
  @Override
  public void encode(byte[] text, int from, int to, TokenIdList into, Runnable pause) {
    int at = from;
    while (at < to) {
      int end = to - at <= MAX_CALL ? to : Math.min(to, cut(text, at));
      if (end - at > MAX_CALL) {
        throw new TextTooLongException("a stretch without special tokens", end - at);
      }
      if (at > from) {
        pause.run();
      }
      encodeOne(new String(text, at, end - at, StandardCharsets.UTF_8), into, pause);
      at = end;
    }
  }

  private void encodeOne(String piece, TokenIdList into, Runnable pause) {
    if (!breaks) {
      into.addAll(idsOf(piece, false));
      return;
    }
    boolean begun = false;
    for (String part : piece.split(BREAK, -1)) {
      if (begun) {
        pause.run();
      }
      into.addAll(idsOf(part, false));
      begun = true;
    }
  }

  private int[] idsOf(String text, boolean addSpecialTokens) {
    try {
      long encoding = TokenizersLibrary.LIB.encode(handle, text, addSpecialTokens);
      try {
        long[] wide = TokenizersLibrary.LIB.getTokenIds(encoding);
        int[] ids = new int[wide.length];
        for (int i = 0; i < ids.length; i++) {
          ids[i] = (int) wide[i];
        }
        return ids;
      } finally {
        TokenizersLibrary.LIB.deleteEncoding(encoding);
      }
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  private static int indexOf(int[] ids, int[] part) {
    for (int i = 0; i + part.length <= ids.length; i++) {
      if (Arrays.equals(ids, i, i + part.length, part, 0, part.length)) {
        return i;
      }
    }
    throw new IllegalArgumentException("its post-processor changes the text's own tokens");
  }
}
