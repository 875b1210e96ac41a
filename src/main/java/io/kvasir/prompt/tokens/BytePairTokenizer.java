package io.kvasir.prompt.tokens;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.text.Normalizer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A byte-level byte-pair tokenizer, as GPT-2, Llama 3 and 4, Qwen, DeepSeek, GLM, Mistral's later models and gpt-oss
 * have. It makes the same ids as the Hugging Face library, at a tenth of the time and without leaving the JVM: added
 * tokens split the text, a {@link Splitter} splits the text between them into words, and a word's ids come from
 * {@link WordCache} or from {@link Merges}. See Sennrich et al., "Neural Machine Translation of Rare Words with
 * Subword Units" (2016), and Radford et al., "Language Models are Unsupervised Multitask Learners" (2019) for bytes.
 *
 * <p>All words are cut from their own start on, so a text may be cut before every added token and between every line
 * break and a letter: all splitters end a word there.
 */
final class BytePairTokenizer extends Tokenizer {
  /** Long stretches without an added token are cut at line breaks, at pieces of about this many bytes. */
  private static final int LINE_PIECE = 1024;

  /**
   * The longest words that are merged, in bytes: merging takes 30 bytes of memory for each byte of a word, and up to a
   * second for so long a one. What models are sent has none that comes near it.
   */
  private static final int MAX_WORD = 1 << 20;

  /** Bytes of text from one pause to the next: some milliseconds. */
  private static final int PAUSE_BYTES = 64 << 10;

  private final AddedTokens added;
  private final AddedTokens addedToNormalized;
  private final boolean composed;
  private final Splitter splitter;
  private final Vocabulary vocabulary;
  private final Merges merges;
  private final boolean wholeWords;
  private final int[] before;
  private final int[] after;
  private final int lineAfter;
  private final WordCache words = new WordCache();

  private BytePairTokenizer(
      JsonNode json, Splitter splitter, Vocabulary vocabulary, Merges merges, SpecialTokenWrapper surround,
      boolean breaks) {
    this.added = AddedTokens.of(json.path("added_tokens"), false, breaks);
    this.addedToNormalized = AddedTokens.of(json.path("added_tokens"), true);
    this.composed = isComposed(json.path("normalizer"));
    this.splitter = splitter;
    this.vocabulary = vocabulary;
    this.merges = merges;
    this.wholeWords = json.path("model").path("ignore_merges").asBoolean();
    this.before = surround.before();
    this.after = surround.after();
    this.lineAfter =
        added.mayCrossLines() || addedToNormalized.mayCrossLines() ? Integer.MAX_VALUE : LINE_PIECE;
  }

  /**
   * The tokenizer that {@code json} describes, null if it is of another type.
   *
   * @param breaks whether texts may have {@link Tokenizer#BREAK breaks}
   */
  static @Nullable BytePairTokenizer of(JsonNode json, boolean breaks) {
    JsonNode model = json.path("model");
    boolean plain = model.path("type").asText("BPE").equals("BPE")
        && model.path("dropout").asDouble(0) == 0
        && model.path("continuing_subword_prefix").asText("").isEmpty()
        && model.path("end_of_word_suffix").asText("").isEmpty();
    Splitter splitter = Splitters.of(json.path("pre_tokenizer"));
    SpecialTokenWrapper surround = SpecialTokenWrapper.of(json.path("post_processor"));
    if (!plain || splitter == null || surround == null || !isKnown(json.path("normalizer"))) {
      return null;
    }
    Vocabulary vocabulary = Vocabulary.of(model.path("vocab"));
    Merges merges = vocabulary == null ? null : merges(model.path("merges"), vocabulary);
    if (vocabulary == null || merges == null) {
      return null;
    }
    for (JsonNode token : json.path("added_tokens")) {
      vocabulary.addExtra(token.path("content").asText(), token.path("id").asInt());
    }
    return new BytePairTokenizer(json, splitter, vocabulary, merges, surround, breaks);
  }

  private static @Nullable Merges merges(JsonNode pairs, Vocabulary vocabulary) {
    Merges merges = new Merges(pairs.size());
    int rank = 0;
    for (JsonNode pair : pairs) {
      String[] both = pair.isTextual()
          ? pair.textValue().split(" ", 2)
          : new String[] {pair.path(0).asText(), pair.path(1).asText()};
      byte[] left = both.length < 2 ? null : Vocabulary.bytes(both[0]);
      byte[] merged = left == null ? null : Vocabulary.bytes(both[0] + both[1]);
      if (left == null || merged == null) {
        return null;
      }
      int leftId = vocabulary.find(merged, 0, left.length);
      int rightId = vocabulary.find(merged, left.length, merged.length);
      int mergedId = vocabulary.find(merged, 0, merged.length);
      if (leftId < 0 || rightId < 0 || mergedId < 0) {
        return null;
      }
      merges.add(leftId, rightId, rank++, mergedId);
    }
    return merges;
  }

  private static boolean isKnown(JsonNode normalizer) {
    if (normalizer.path("type").asText().equals("Sequence")) {
      for (JsonNode part : normalizer.path("normalizers")) {
        if (!isKnown(part)) {
          return false;
        }
      }
      return true;
    }
    return normalizer.isNull() || normalizer.isMissingNode() || normalizer.path("type").asText().equals("NFC");
  }

  private static boolean isComposed(JsonNode normalizer) {
    return normalizer.findValuesAsText("type").contains("NFC");
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
    ByteArrayOutputStream out = new ByteArrayOutputStream(4 * ids.length);
    for (int id : ids) {
      byte[] bytes = vocabulary.bytes(id);
      if (bytes != null) {
        out.writeBytes(bytes);
      }
    }
    return out.toString(StandardCharsets.UTF_8);
  }

  @Override
  public int cut(byte[] text, int from) {
    return added.cut(text, from, lineAfter);
  }

  @Override
  public void encode(byte[] text, int from, int to, TokenIdList into, Runnable pause) {
    // After a cut at a line break the next letter counts: it decides how the white space before it falls into words.
    int seen = to < text.length && Utf8.isAsciiLetter(text[to]) ? to + 1 : to;
    int at = from;
    AddedTokens.Cursor tokens = added.in(text, from, seen);
    while (tokens.next() && tokens.start() < to) {
      if (at < tokens.start()) {
        between(text, at, tokens.start(), tokens.start(), into, pause);
      }
      if (tokens.id() != AddedTokens.NONE) {
        into.add(tokens.id());
      }
      at = tokens.stop();
    }
    if (at < to) {
      between(text, at, to, seen, into, pause);
    }
  }

  /** Encodes {@code text[from, to)}, which has no added token; {@code text[to, seen)} follows it. */
  private void between(byte[] text, int from, int to, int seen, TokenIdList into, Runnable pause) {
    if (composed && !isAscii(text, from, to)) {
      String part = new String(text, from, seen - from, StandardCharsets.UTF_8);
      if (!Normalizer.isNormalized(part, Normalizer.Form.NFC)) {
        byte[] normalized = Normalizer.normalize(part, Normalizer.Form.NFC).getBytes(StandardCharsets.UTF_8);
        normal(normalized, 0, normalized.length - (seen - to), normalized.length, into, pause);
        return;
      }
    }
    normal(text, from, to, seen, into, pause);
  }

  private void normal(byte[] text, int from, int to, int seen, TokenIdList into, Runnable pause) {
    int at = from;
    if (!addedToNormalized.isEmpty()) {
      AddedTokens.Cursor tokens = addedToNormalized.in(text, from, seen);
      while (tokens.next() && tokens.start() < to) {
        words(text, at, tokens.start(), tokens.start(), into, pause);
        into.add(tokens.id());
        at = tokens.stop();
      }
    }
    words(text, at, to, seen, into, pause);
  }

  private void words(byte[] text, int from, int to, int seen, TokenIdList into, Runnable pause) {
    int at = from;
    int paused = from;
    while (at < to) {
      int end = splitter.end(text, at, seen);
      if (at - paused >= PAUSE_BYTES) {
        pause.run();
        paused = at;
      }
      word(text, at, end, into);
      at = end;
    }
  }

  private void word(byte[] text, int from, int to, TokenIdList into) {
    int length = to - from;
    if (length == 1) {
      into.add(vocabulary.idOfByte(text[from]));
      return;
    }
    if (length > MAX_WORD) {
      throw new TextTooLongException("a word", length);
    }
    if (length > WordCache.MAX_BYTES) {
      into.addAll(merged(text, from, to));
      return;
    }
    long hash = WordCache.hash(text, from, to);
    int[] ids = words.find(hash, text, from, to);
    if (ids == null) {
      ids = merged(text, from, to);
      words.put(hash, text, from, to, ids);
    }
    if (ids.length == 1) {
      into.add(ids[0]);
    } else {
      into.addAll(ids);
    }
  }

  private int[] merged(byte[] text, int from, int to) {
    if (wholeWords) {
      int whole = vocabulary.find(text, from, to);
      if (whole >= 0) {
        return new int[] {whole};
      }
    }
    int[] ids = new int[to - from];
    for (int i = 0; i < ids.length; i++) {
      ids[i] = vocabulary.idOfByte(text[from + i]);
    }
    return Arrays.copyOf(ids, merges.apply(ids, ids.length));
  }

  private static boolean isAscii(byte[] text, int from, int to) {
    for (int i = from; i < to; i++) {
      if (text[i] < 0) {
        return false;
      }
    }
    return true;
  }
}
