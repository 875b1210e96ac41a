package io.kvasir.prompt.tokens;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.zip.GZIPInputStream;

/**
 * The tokenizer of the models in the Harmony format, {@code o200k_harmony}, and the {@code tokenizer.json} that these
 * models have of it: from the ordinary tokens in <a href="https://github.com/openai/tiktoken">tiktoken's</a> format.
 */
public final class HarmonyVocabulary {
  private static final String BEFORE = "[^\\r\\n\\p{L}\\p{N}]?";
  private static final String UPPER = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
  private static final String LOWER = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
  private static final String ENDING = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";
  private static final String WORDS =
      BEFORE + UPPER + "*" + LOWER + "+" + ENDING + "|" + BEFORE + UPPER + "+" + LOWER + "*" + ENDING
          + "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

  /** The first special token and the last one. */
  private static final int FIRST_SPECIAL = 199_998;

  private static final int LAST_SPECIAL = 201_088;

  /** Those of them that have names. */
  private static final Map<Integer, String> NAMES =
      Map.of(
          FIRST_SPECIAL, "startoftext", 199_999, "endoftext", 200_002, "return", 200_003, "constrain",
          200_005, "channel", 200_006, "start", 200_007, "end", 200_008, "message", 200_012, "call");

  private HarmonyVocabulary() {}

  /**
   * The tokenizer; its texts may have {@link Tokenizer#BREAK breaks}.
   *
   * @param tiktoken the ordinary tokens, packed by gzip; not closed
   * @throws IOException when they cannot be read
   */
  public static Tokenizer tokenizer(InputStream tiktoken) throws IOException {
    return Objects.requireNonNull(BytePairTokenizer.of(json(tiktoken), true), "of a kind that we know");
  }

  /**
   * The {@code tokenizer.json}.
   *
   * @param tiktoken the ordinary tokens, packed by gzip; not closed
   * @throws IOException when they cannot be read
   */
  public static byte[] tokenizerJson(InputStream tiktoken) throws IOException {
    return json(tiktoken).toString().getBytes(StandardCharsets.UTF_8);
  }

  private static ObjectNode json(InputStream tiktoken) throws IOException {
    Map<String, Integer> ranks = ranks(tiktoken);
    JsonNodeFactory json = JsonNodeFactory.instance;
    ObjectNode byteLevel = json.objectNode().put("type", "ByteLevel").put("add_prefix_space", false)
        .put("trim_offsets", true).put("use_regex", false);
    ObjectNode tokenizer = json.objectNode();
    addSpecialTokens(tokenizer.putArray("added_tokens"));
    tokenizer.putNull("normalizer").putNull("post_processor").set("decoder", byteLevel);
    ArrayNode splits = tokenizer.putObject("pre_tokenizer").put("type", "Sequence").putArray("pretokenizers");
    splits.addObject().put("type", "Split").put("behavior", "Isolated").put("invert", false)
        .putObject("pattern").put("Regex", WORDS);
    splits.add(byteLevel);
    ObjectNode model = tokenizer.putObject("model").put("type", "BPE").put("byte_fallback", false);
    model.putNull("dropout").putNull("unk_token").putNull("continuing_subword_prefix").putNull("end_of_word_suffix")
        .put("fuse_unk", false).put("ignore_merges", false);
    String[] written = writtenBytes();
    ObjectNode vocabulary = model.putObject("vocab");
    ArrayNode merges = model.putArray("merges");
    ranks.forEach((token, rank) -> {
      vocabulary.put(written(token, written), rank.intValue());
      if (token.length() > 1) {
        String[] halves = halves(token, rank, ranks);
        merges.addArray().add(written(halves[0], written)).add(written(halves[1], written));
      }
    });
    return tokenizer;
  }

  private static void addSpecialTokens(ArrayNode into) {
    for (int id = FIRST_SPECIAL; id <= LAST_SPECIAL; id++) {
      into.addObject().put("id", id).put("content", "<|" + NAMES.getOrDefault(id, "reserved_" + id) + "|>")
          .put("single_word", false).put("lstrip", false).put("rstrip", false).put("normalized", false)
          .put("special", true);
    }
  }

  /** The tokens in their order, a character for each byte. */
  private static Map<String, Integer> ranks(InputStream tiktoken) throws IOException {
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(new GZIPInputStream(tiktoken), StandardCharsets.US_ASCII));
    Map<String, Integer> ranks = LinkedHashMap.newLinkedHashMap(FIRST_SPECIAL);
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      int space = line.indexOf(' ');
      String token = new String(Base64.getDecoder().decode(line.substring(0, space)), StandardCharsets.ISO_8859_1);
      ranks.put(token, Integer.valueOf(line.substring(space + 1)));
    }
    return ranks;
  }

  /** The two tokens of which a token is made last: those that are left when earlier merges are done. */
  private static String[] halves(String token, int rank, Map<String, Integer> ranks) {
    List<String> parts = new ArrayList<>(token.length());
    for (int i = 0; i < token.length(); i++) {
      parts.add(token.substring(i, i + 1));
    }
    while (parts.size() > 2) {
      int best = -1;
      int lowest = rank;
      for (int i = 0; i + 1 < parts.size(); i++) {
        int merged = ranks.getOrDefault(parts.get(i) + parts.get(i + 1), rank);
        if (merged < lowest) {
          lowest = merged;
          best = i;
        }
      }
      if (best < 0) {
        throw new IllegalArgumentException("token " + rank + " is not made of earlier ones");
      }
      parts.set(best, parts.get(best) + parts.remove(best + 1));
    }
    return new String[] {parts.getFirst(), parts.getLast()};
  }

  private static String written(String token, String[] bytes) {
    StringBuilder text = new StringBuilder(token.length());
    token.chars().forEach(b -> text.append(bytes[b]));
    return text.toString();
  }

  /** How tokenizers of bytes write each of them: as itself where that is visible, else by a letter beyond Latin-1. */
  private static String[] writtenBytes() {
    String[] written = new String[1 << Byte.SIZE];
    int others = written.length;
    for (int b = 0; b < written.length; b++) {
      boolean visible = (b > ' ' && b <= '~') || (b >= '\u00a1' && b <= '\u00ac') || b >= '\u00ae';
      written[b] = Character.toString(visible ? b : others++);
    }
    return written;
  }
}
