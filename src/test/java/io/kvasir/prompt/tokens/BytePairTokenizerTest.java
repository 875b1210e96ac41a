package io.kvasir.prompt.tokens;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares our tokenizer with the Hugging Face library, id by id. */
final class BytePairTokenizerTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private static final String[] SPECIAL = {
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>", "<｜User｜>", "<|start|>",
    "[INST]",
    "<tool_call>", "<mask>", "<right>", "Kvasir", "<|im_start|>x", "<fim_prefix>", "Ångström", "«é»"
  };

  private static JsonNode json(String name) {
    try {
      return JSON.readTree(Samples.bytes("/tokenizers/" + name + ".json"));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static BytePairTokenizer ours(JsonNode json) {
    return Objects.requireNonNull(BytePairTokenizer.of(json, false), "of a kind that we know");
  }

  private static NativeTokenizer library(JsonNode json) {
    try {
      return NativeTokenizer.of(json.toString(), json, false);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static void compare(BytePairTokenizer ours, NativeTokenizer library, String text) {
    assertThat(ours.encode(text, false)).as(() -> JSON.getNodeFactory().textNode(text).toString())
        .containsExactly(library.encode(text, false));
  }

  @ParameterizedTest
  @ValueSource(strings = {"gpt2", "starcoder", "llama3", "qwen2", "qwen35", "o200k", "tekken", "deepseek"})
  void encode_anyText_isWhatTheLibraryMakes(String name) {
    JsonNode json = json(name);
    BytePairTokenizer ours = ours(json);
    NativeTokenizer library = library(json);
    Texts texts = new Texts(1);
    for (int i = 0; i < 400; i++) {
      compare(ours, library, texts.text(1 + texts.below(25), SPECIAL));
    }
    compare(ours, library, "");
    assertThat(ours.before()).containsExactly(library.before());
    assertThat(ours.after()).containsExactly(library.after());
  }

  @ParameterizedTest
  @ValueSource(strings = {"gpt2", "llama3", "qwen35", "o200k", "deepseek"})
  void encode_codePointsOfAllKindsAmongLetters_isWhatTheLibraryMakes(String name) {
    JsonNode json = json(name);
    BytePairTokenizer ours = ours(json);
    NativeTokenizer library = library(json);
    StringBuilder text = new StringBuilder();
    for (int codePoint = 0; codePoint <= Character.MAX_CODE_POINT; codePoint += codePoint < 0x3100 ? 1 : 211) {
      if (Texts.isSettled(codePoint)) {
        // Where words end among these tells letters, marks, numbers, space, signs and others apart.
        text.append("in").appendCodePoint(codePoint).append("the  ").appendCodePoint(codePoint).append("'s");
      }
      if (text.length() > 2000) {
        compare(ours, library, text.toString());
        text.setLength(0);
      }
    }
    compare(ours, library, text.toString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"gpt2", "llama3", "qwen2", "o200k", "deepseek"})
  void encode_piecesOfACutText_areTheWholes(String name) {
    BytePairTokenizer ours = ours(json(name));
    Texts texts = new Texts(2);
    int pieces = 0;
    for (int i = 0; i < 25; i++) {
      byte[] text = (texts.text(300, SPECIAL) + texts.prose(3000) + texts.text(300)).getBytes(StandardCharsets.UTF_8);
      TokenIdList whole = new TokenIdList(16);
      ours.encode(text, 0, text.length, whole);
      TokenIdList joined = new TokenIdList(16);
      for (int from = 0; from < text.length; pieces++) {
        int to = ours.cut(text, from);
        ours.encode(text, from, to, joined);
        from = to;
      }
      assertThat(joined.copyFrom(0)).containsExactly(whole.copyFrom(0));
    }
    assertThat(pieces).isGreaterThan(100);
  }

  @ParameterizedTest
  @ValueSource(strings = {"gpt2", "llama3", "deepseek"})
  void encode_oneVeryLongWord_isWhatTheLibraryMakesAndQuick(String name) {
    JsonNode json = json(name);
    Texts texts = new Texts(3);
    for (String text : new String[] {"ab".repeat(500), "a".repeat(300), "the".repeat(200) + "漢字".repeat(200),
        texts.prose(2000).replaceAll("\\s", ""), " ".repeat(1000), "=".repeat(700), "\n".repeat(500)}) {
      compare(ours(json), library(json), text);
    }
    assertThat(ours(json).encode("a".repeat(1_000_000), false)).isNotEmpty();
  }

  @Test
  void encode_wordBeyondAMebibyte_isRefusedBeforeItTakesMemory() {
    BytePairTokenizer ours = ours(json("llama3"));
    byte[] longest = "ab".repeat(1 << 19).getBytes(StandardCharsets.UTF_8);
    TokenIdList ids = new TokenIdList(longest.length);
    assertThat(allocated(() -> ours.encode(longest, 0, longest.length, ids))).isLessThan(40L * longest.length);

    for (String word : List.of("a", " ", "=", "\n")) {
      byte[] longer = word.repeat((1 << 20) + 1).getBytes(StandardCharsets.UTF_8);
      assertThat(allocated(() -> assertThatThrownBy(() -> ours.encode(longer, 0, longer.length, ids))
          .isInstanceOf(IllegalArgumentException.class))).isLessThan(longer.length);
    }
  }

  private static long allocated(Runnable work) {
    long before = THREADS.getCurrentThreadAllocatedBytes();
    work.run();
    return THREADS.getCurrentThreadAllocatedBytes() - before;
  }

  @ParameterizedTest
  @ValueSource(strings = {"gpt2", "qwen35", "deepseek"})
  void encode_longTextOfOneLine_pausesBetweenWords(String name) {
    BytePairTokenizer ours = ours(json(name));
    String text = new Texts(5).prose(300_000).replace('\n', ' ');
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    TokenIdList open = new TokenIdList(16);
    TokenIdList taken = new TokenIdList(16);
    List<Integer> pauses = new ArrayList<>();
    ours.encode(utf8, 0, utf8.length, open, () -> {
      pauses.add(open.size());
      taken.addAll(open.copyFrom(0));
      open.clear();
    });
    assertThat(pauses).hasSizeBetween(utf8.length / (64 << 10) - 1, utf8.length / (64 << 10))
        .allMatch(tokens -> tokens > 0);
    taken.addAll(open.copyFrom(0));
    assertThat(taken.copyFrom(0)).isEqualTo(ours.encode(text, false));
  }

  @Test
  void decode_idsOfAText_areTheText() {
    BytePairTokenizer ours = ours(json("llama3"));
    Texts texts = new Texts(4);
    for (int i = 0; i < 500; i++) {
      String text = texts.text(30, SPECIAL);
      assertThat(ours.decode(ours.encode(text, false))).isEqualTo(text);
    }
    assertThat(ours.decode(new int[] {-1, 999_999, 3000})).isEqualTo("<|begin_of_text|>");
  }

  @Test
  void of_otherKinds_isNotOurs() {
    for (String name : new String[] {"llama2", "mistral", "gemma"}) {
      assertThat(BytePairTokenizer.of(json(name), false)).isNull();
    }
    for (String field : new String[] {"continuing_subword_prefix", "end_of_word_suffix"}) {
      JsonNode json = json("gpt2");
      ((ObjectNode) json.get("model")).put(field, "##");
      assertThat(BytePairTokenizer.of(json, false)).isNull();
    }
    JsonNode lower = json("gpt2");
    ((ObjectNode) lower).putObject("normalizer").put("type", "Lowercase");
    assertThat(BytePairTokenizer.of(lower, false)).isNull();
    JsonNode regex = json("llama3");
    ((ObjectNode) regex.at("/pre_tokenizer/pretokenizers/0/pattern")).put("Regex", "\\w+");
    assertThat(BytePairTokenizer.of(regex, false)).isNull();
  }

  @Test
  void tokenizerOf_knownKind_isOurs() {
    assertThat(Samples.demo()).isInstanceOf(BytePairTokenizer.class);
    assertThat(Samples.tokenizer("llama2")).isInstanceOf(NativeTokenizer.class);
  }

  /** By our own tokenizer and by the library, whole and cut into pieces. */
  @Test
  void breaks_separateTexts_andAreNoTokens() throws IOException {
    JsonNode json = json("o200k");
    Tokenizer ours = Objects.requireNonNull(BytePairTokenizer.of(json, true));
    for (Tokenizer tokenizer : List.of(ours, NativeTokenizer.of(json.toString(), json, true))) {
      String first = "some text of a part, long enough to be worth a piece of its own, that ends in a wor";
      TokenIdList apart = new TokenIdList(64);
      for (String text : List.of(first, "d and more", "s", "<|")) {
        apart.addAll(tokenizer.encode(text, false));
      }
      String text = first + Tokenizer.BREAK + "d and more" + Tokenizer.BREAK + Tokenizer.BREAK + "s" + Tokenizer.BREAK
          + "<|";
      assertThat(tokenizer.encode(text, false))
          .isEqualTo(apart.copyFrom(0))
          .isNotEqualTo(tokenizer.encode(text.replace(Tokenizer.BREAK, ""), false));

      byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
      TokenIdList pieces = new TokenIdList(64);
      int cut = tokenizer.cut(utf8, 0);
      assertThat(cut).isEqualTo(first.length());
      tokenizer.encode(utf8, 0, cut, pieces);
      tokenizer.encode(utf8, cut, utf8.length, pieces);
      assertThat(pieces.copyFrom(0)).isEqualTo(apart.copyFrom(0));
    }
    assertThat(ours.encode("a" + Tokenizer.BREAK, false))
        .isNotEqualTo(Objects.requireNonNull(BytePairTokenizer.of(json, false)).encode("a" + Tokenizer.BREAK, false));
  }
}
