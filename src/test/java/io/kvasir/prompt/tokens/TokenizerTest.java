package io.kvasir.prompt.tokens;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TokenizerTest {
  @Test
  void encode_demoModel_specialTokensAreOneIdEach() {
    Tokenizer demo = Samples.demo();
    int[] ids = demo.encode("<|im_start|>user\nhello<|im_end|>\n", false);
    assertThat(ids[0]).isEqualTo(8001);
    assertThat(ids).contains(8002).hasSizeLessThan(8);
    assertThat(demo.decode(ids)).isEqualTo("<|im_start|>user\nhello<|im_end|>\n");
  }

  @Test
  void encode_specialTokensAskedFor_standAroundTheText() {
    Tokenizer deepseek = Samples.tokenizer("deepseek");
    int[] bare = deepseek.encode("hello there", false);
    assertThat(deepseek.encode("hello there", true)).startsWith(3000).endsWith(3001).hasSize(bare.length + 2);
    assertThat(deepseek.encode("", true)).containsExactly(3000, 3001);
  }

  @Test
  void encode_longText_isNotCutShort() {
    assertThat(Samples.demo().encode("one two ".repeat(5000), false)).hasSizeGreaterThanOrEqualTo(10_000);
  }

  /** By the library, of which no call can be interrupted. */
  @Test
  void encode_byTheLibrary_refusesMoreThanAMebibyteWithoutSpecialTokens() {
    Tokenizer llama = Samples.tokenizer("llama2");
    String text = "one two ".repeat(140_000);
    assertThatThrownBy(() -> llama.encode(text, false))
        .isInstanceOf(TextTooLongException.class).hasMessageEndingWith("of 1120000 bytes");
  }

  @Test
  void encode_byTheLibrary_longTextWithSpecialTokens_pausesBetweenThem() {
    Tokenizer llama = Samples.tokenizer("llama2");
    String piece = "<s>" + "one two ".repeat(35_000);
    byte[] text = piece.repeat(4).getBytes(StandardCharsets.UTF_8);
    TokenIdList ids = new TokenIdList(0);
    AtomicInteger pauses = new AtomicInteger();
    llama.encode(text, 0, text.length, ids, pauses::incrementAndGet);
    assertThat(pauses.get()).isPositive();
    int[] one = llama.encode(piece, false);
    assertThat(ids.size()).isEqualTo(4 * one.length);
    assertThat(ids.copyFrom(3 * one.length)).containsExactly(one);
  }

  @Test
  void load_notATokenizer_namesTheFileAndTheFault(@TempDir Path dir) throws IOException {
    Path file = Files.writeString(dir.resolve("tokenizer.json"), "{\"model\": 3}");
    assertThatThrownBy(() -> Tokenizer.load(file)).isInstanceOf(IOException.class)
        .hasMessageContaining("tokenizer.json").hasMessageContaining("not a tokenizer.json");
    assertThatThrownBy(() -> Tokenizer.of("{".getBytes(StandardCharsets.UTF_8))).hasMessageContaining("not JSON");
  }
}
