package io.kvasir.prompt.tokens;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A tokenizer that makes the same token ids as a model's own. Thread-safe.
 *
 * <p>Text is UTF-8 here. A text may be cut at {@link #cut} and its pieces encoded one by one: their ids, one after
 * the other, are those of the whole. Where such a cut lies depends on the text before it and the one character
 * after it only, so two texts that begin alike are cut alike as far as they agree.
 */
public abstract sealed class Tokenizer permits NativeTokenizer, BytePairTokenizer {
  private static final Logger log = LoggerFactory.getLogger(Tokenizer.class);
  /** A vocabulary is an object of a hundred thousand fields, none of which comes twice: not worth a table of names. */
  private static final ObjectMapper JSON =
      new ObjectMapper(JsonFactory.builder().disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES).build());

  /** The text of the check at load: scripts, accents, white space, numbers, code and contractions. */
  private static final String SAMPLE = "It's 7:45, isn't it?  WE'LL see HTTPServer.getElementById(x1234567)…   \r\n"
      + "\n\t\tdef f(x):\n\n  \n\t\treturn x**2  # ½ ① ٣٤٥ Ⅷ\r\n"
      + "naïve cafe\u0301 Å Grüße, Привет мир, 你好世界今天, こんにちはカタカナ, 안녕하세요, नमस्ते १२३, مرحبا 👩‍💻🚀\u3000\u0085\u200b\n"
      + "</s><|endoftext|> " + "a".repeat(80) + "  ";

  /**
   * Stands for nothing in a text, but what is before it and what is after it are tokenised each by itself; for
   * tokenizers {@link #withBreaks}. No character: a text of clients that has it loses it.
   */
  public static final String BREAK = "\uFDD0";

  /** The least bytes of a piece that is worth caching on its own. */
  static final int SHORT_PIECE = 64;

  private static final AtomicLong LOADED = new AtomicLong();

  private final long number = LOADED.incrementAndGet();

  /**
   * The tokenizer that a Hugging Face {@code tokenizer.json} describes.
   *
   * @throws IOException when the file cannot be read, naming the fault
   */
  public static Tokenizer load(Path tokenizerJson) throws IOException {
    try {
      return of(Files.readAllBytes(tokenizerJson));
    } catch (IOException e) {
      throw new IOException("tokenizer " + tokenizerJson + ": " + e.getMessage(), e);
    }
  }

  /**
   * The tokenizer that the bytes of a {@code tokenizer.json} describe.
   *
   * @throws IOException when they are not valid, naming the fault
   */
  public static Tokenizer of(byte[] tokenizerJson) throws IOException {
    return of(tokenizerJson, false);
  }

  /** The same; its texts may have {@link #BREAK breaks}. */
  public static Tokenizer withBreaks(byte[] tokenizerJson) throws IOException {
    return of(tokenizerJson, true);
  }

  private static Tokenizer of(byte[] tokenizerJson, boolean breaks) throws IOException {
    JsonNode json;
    try {
      json = JSON.readTree(tokenizerJson);
    } catch (JsonProcessingException e) {
      throw new IOException("not JSON: " + e.getOriginalMessage(), e);
    }
    BytePairTokenizer bytePair = BytePairTokenizer.of(json, breaks);
    if (bytePair == null) {
      return NativeTokenizer.of(new String(tokenizerJson, StandardCharsets.UTF_8), json, breaks);
    }
    NativeTokenizer reference;
    try {
      reference = NativeTokenizer.of(new String(tokenizerJson, StandardCharsets.UTF_8), json, breaks);
    } catch (IOException e) {
      log.warn("this machine cannot check our tokenizer against the Hugging Face library: {}", e.getMessage());
      return bytePair;
    }
    for (boolean special : new boolean[] {false, true}) {
      if (!Arrays.equals(bytePair.encode(SAMPLE, special), reference.encode(SAMPLE, special))) {
        log.warn("our byte-pair tokenizer differs from the Hugging Face library for this tokenizer.json; the slower"
            + " library is used");
        return reference;
      }
    }
    return bytePair;
  }

  /**
   * The ids of {@code text}.
   *
   * @param addSpecialTokens whether to add the model's special tokens around the text (such as a begin-of-text token)
   * @throws TextTooLongException when a part of the text that is encoded at once has more than a mebibyte
   * @throws RuntimeException when the text cannot be encoded
   */
  public final int[] encode(String text, boolean addSpecialTokens) {
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    TokenIdList ids = new TokenIdList(utf8.length / 3);
    if (addSpecialTokens) {
      ids.addAll(before());
    }
    encode(utf8, 0, utf8.length, ids);
    if (addSpecialTokens) {
      ids.addAll(after());
    }
    return ids.copyFrom(0);
  }

  /** No other tokenizer of this process has it: what is remembered of one is not used for another. */
  public final long number() {
    return number;
  }

  /** The text of {@code ids}, special tokens included. */
  public abstract String decode(int[] ids);

  /** The ids that {@code addSpecialTokens} puts before a text; not to be changed. */
  public abstract int[] before();

  /** The ids that {@code addSpecialTokens} puts after a text; not to be changed. */
  public abstract int[] after();

  /**
   * The end of the piece that begins at {@code from}: the first place after it where {@code text} may be cut, or its
   * length.
   *
   * @param from 0 or a place where the text may be cut
   */
  public abstract int cut(byte[] text, int from);

  /** Appends the ids of {@code text[from, to)}, both ends being places where the text may be cut. */
  final void encode(byte[] text, int from, int to, TokenIdList into) {
    encode(text, from, to, into, () -> { });
  }

  /**
   * The same, with pauses where the text is long.
   *
   * @param pause runs between words where it can, and may take ids that are there already; what it throws ends this
   * @throws TextTooLongException when a part of the text that is encoded at once has more than a mebibyte
   * @throws RuntimeException when the text cannot be encoded
   */
  public abstract void encode(byte[] text, int from, int to, TokenIdList into, Runnable pause);
}
