package io.kvasir.prompt.tokens;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The implemented splitters, by the pre-tokenizer in a tokenizer.json. */
final class Splitters {
  private static final String TAIL = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
  private static final String SPACE = "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
  private static final String UPPER = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
  private static final String LOWER = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";

  private static final String DEEPSEEK_SIGNS_AND_WORDS =
      "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
          + "| ?[\\p{P}\\p{S}]+[\\r\\n]*" + SPACE;

  private static final String GPT2 =
      "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

  /** By the expressions of the pre-tokenizer, one after the other. */
  private static final Map<List<String>, Splitter> KNOWN = Map.ofEntries(
      Map.entry(List.of(GPT2), new Gpt2Splitter(false)),
      Map.entry(List.of("\\p{N}", GPT2), new Gpt2Splitter(true)),
      Map.entry(List.of(words("\\p{L}", "", "{1,3}")), new WordSplitter(CharClass.LETTER, 3)),
      Map.entry(List.of(words("\\p{L}", "", "")), new WordSplitter(CharClass.LETTER, 1)),
      Map.entry(List.of(words("[\\p{L}\\p{M}]", "\\p{M}", "")), new WordSplitter(CharClass.LETTER | CharClass.MARK, 1)),
      Map.entry(List.of(cased(TAIL + "?", "{1,3}")), new CasedSplitter(true, 3)),
      Map.entry(List.of(cased("", "")), new CasedSplitter(false, 1)),
      Map.entry(List.of("\\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+", DEEPSEEK_SIGNS_AND_WORDS), new DeepSeekSplitter()));

  private Splitters() {}

  /** GPT-4's, Llama 3's, Qwen's, GLM's. */
  private static String words(String letters, String marks, String numbers) {
    return TAIL + "|[^\\r\\n\\p{L}\\p{N}]?" + letters + "+|\\p{N}" + numbers
        + "| ?[^\\s\\p{L}" + marks + "\\p{N}]+[\\r\\n]*" + SPACE;
  }

  /** GPT-4o's, gpt-oss's, Llama 4's; without tails Mistral's. */
  private static String cased(String tail, String numbers) {
    String start = "[^\\r\\n\\p{L}\\p{N}]?";
    return start + UPPER + "*" + LOWER + "+" + tail + "|" + start + UPPER + "+" + LOWER + "*" + tail
        + "|\\p{N}" + numbers + "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" + SPACE;
  }

  /** The splitter for {@code preTokenizer}, null if there is none. */
  static @Nullable Splitter of(JsonNode preTokenizer) {
    JsonNode parts = preTokenizer.path("pretokenizers");
    List<String> expressions = new ArrayList<>();
    boolean bytes = false;
    for (JsonNode part : parts.isArray() ? parts : List.of(preTokenizer)) {
      switch (part.path("type").asText()) {
        case "Split" -> expressions.add(expression(part));
        case "Digits" -> expressions.add(part.path("individual_digits").asBoolean() ? "\\p{N}" : "?");
        case "ByteLevel" -> {
          if (part.path("add_prefix_space").asBoolean(true) || bytes) {
            return null;
          }
          if (part.path("use_regex").asBoolean(true)) {
            expressions.add(GPT2);
          }
          bytes = true;
        }
        default -> {
          return null;
        }
      }
    }
    return bytes ? KNOWN.get(expressions) : null;
  }

  /** Line breaks may stand in it as themselves. */
  private static String expression(JsonNode split) {
    boolean every = split.path("behavior").asText().equals("Isolated") && !split.path("invert").asBoolean();
    String regex = split.path("pattern").path("Regex").asText("?");
    return every ? regex.replace("\r", "\\r").replace("\n", "\\n") : "?";
  }
}
