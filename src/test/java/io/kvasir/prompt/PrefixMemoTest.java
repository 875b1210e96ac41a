package io.kvasir.prompt;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.index.Chain;
import io.kvasir.prompt.PrefixMemo.Tokens;
import io.kvasir.prompt.tokens.Samples;
import io.kvasir.prompt.tokens.Texts;
import io.kvasir.prompt.tokens.Tokenizer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class PrefixMemoTest {
  private static final BlockNamespace PLAIN = BlockNamespace.of("m", 16, null, null);
  private final PrefixMemo memo = new PrefixMemo(8 << 20);

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static Chain afresh(Tokenizer tokenizer, BlockNamespace namespace, String text, boolean special) {
    return PrefixMemo.ofIds(namespace, tokenizer.encode(text, special)).chain();
  }

  @ParameterizedTest
  @ValueSource(strings = {"qwen2", "llama3", "gpt2", "deepseek", "o200k", "llama2", "mistral", "gemma"})
  void tokens_textsThatShareBeginnings_areThoseOfTheWholeText(String name) {
    Tokenizer tokenizer = Samples.tokenizer(name);
    String[] special = {"<|im_start|>user\n", "<|im_end|>\n", "<|eot_id|>", "<|endoftext|>", "<s>", "</s>", "[INST]",
        "<｜User｜>", "<|start|>", "<start_of_turn>", "<mask>", "<right>", "<tool_call>"};
    Texts texts = new Texts(11);
    List<String> seen = new ArrayList<>(List.of(""));
    for (int i = 0; i < 60; i++) {
      String base = seen.get(texts.below(seen.size()));
      String text = base.substring(0, base.isEmpty() ? 0 : base.offsetByCodePoints(0,
          texts.below(base.codePointCount(0, base.length()))))
          + (texts.below(3) == 0 ? texts.prose(2500) : "") + texts.text(texts.below(60), special);
      seen.add(text);
      boolean around = texts.below(2) == 0;
      Tokens tokens = memo.tokens(tokenizer, PLAIN, utf8(text), around, () -> { });
      assertThat(tokens.chain()).as(text).isEqualTo(afresh(tokenizer, PLAIN, text, around));
      assertThat(tokens.tokens()).isEqualTo(tokenizer.encode(text, around).length);
    }
  }

  @Test
  void tokens_nextTurn_makesItsOwnTextOnly() {
    Tokenizer demo = Samples.demo();
    Texts texts = new Texts(5);
    StringBuilder text = new StringBuilder();
    for (int turn = 0; turn < 40; turn++) {
      String added = "<|im_start|>user\n" + texts.prose(1500) + "<|im_end|>\n<|im_start|>assistant\n";
      text.append(added);
      Tokens tokens = memo.tokens(demo, PLAIN, utf8(text.toString()), false, () -> { });
      int own = demo.encode(added, false).length;
      assertThat(tokens.tokens() - tokens.reused()).isBetween(1, own + 16);
      assertThat(tokens.chain()).isEqualTo(afresh(demo, PLAIN, text.toString(), false));
      text.append("Well.<|im_end|>\n");
    }
  }

  @Test
  void tokens_plainTextThatGrows_makesItsEndOnly() {
    Tokenizer demo = Samples.demo();
    String document = new Texts(6).prose(60_000);
    memo.tokens(demo, PLAIN, utf8(document + "What is it about?"), true, () -> { });
    Tokens tokens = memo.tokens(demo, PLAIN, utf8(document + "Who wrote it?"), true, () -> { });
    assertThat(tokens.chain()).isEqualTo(afresh(demo, PLAIN, document + "Who wrote it?", true));
    assertThat(tokens.tokens() - tokens.reused()).isLessThan(1500);
  }

  @Test
  void tokens_longConversation_isRememberedWithoutItsPieces() {
    Tokenizer demo = Samples.demo();
    Texts texts = new Texts(9);
    StringBuilder history = new StringBuilder();
    for (int turn = 0; turn < 64; turn++) {
      history.append("<|im_start|>user\n").append(texts.prose(300)).append("<|im_end|>\n");
    }
    memo.tokens(demo, PLAIN, utf8(history + "<|im_start|>user\n" + texts.prose(2000)), false, () -> { });
    long steps = memo.size();
    String next = history + "<|im_start|>user\nAnd now?<|im_end|>\n";
    Tokens tokens = memo.tokens(demo, PLAIN, utf8(next), false, () -> { });
    assertThat(tokens.chain()).isEqualTo(afresh(demo, PLAIN, next, false));
    assertThat(tokens.tokens() - tokens.reused()).isLessThan(500);
    assertThat(steps).as("pieces, and spans of sixteen").isGreaterThan(64 + 64 / 16 - 2);
  }

  @Test
  void tokens_otherNamespace_sharesNothing() {
    Tokenizer demo = Samples.demo();
    String text = "<|im_start|>user\n" + new Texts(7).prose(3000) + "<|im_end|>\n";
    Tokens plain = memo.tokens(demo, PLAIN, utf8(text), false, () -> { });
    for (BlockNamespace other
        : List.of(BlockNamespace.of("m", 16, "adapter", null), BlockNamespace.of("m", 16, null, "tenant"),
        BlockNamespace.of("n", 16, null, null), BlockNamespace.of("m", 32, null, null))) {
      Tokens tokens = memo.tokens(demo, other, utf8(text), false, () -> { });
      assertThat(tokens.reused()).isZero();
      assertThat(tokens.chain()).isEqualTo(afresh(demo, other, text, false));
    }
    BlockNamespace adapter = BlockNamespace.of("m", 16, "adapter", null);
    assertThat(memo.tokens(demo, adapter, utf8(text), false, () -> { }).chain().hashes())
        .doesNotContain(plain.chain().hashes()[0]);
  }

  @Test
  void tokens_longTextOfOneLine_hasCheckpointsBetweenItsWords() {
    Tokenizer demo = Samples.demo();
    String text = "a1".repeat(1 << 20);
    AtomicInteger checkpoints = new AtomicInteger();
    Tokens tokens = memo.tokens(demo, PLAIN, utf8(text), false, checkpoints::incrementAndGet);
    assertThat(checkpoints).hasValueGreaterThan(text.length() / (64 << 10) - 2);
    assertThat(tokens.tokens()).isEqualTo(text.length());
    assertThat(tokens.chain()).isEqualTo(afresh(demo, PLAIN, text, false));
  }

  @Test
  void tokens_moreThanFits_staysWithinItsBytes() {
    PrefixMemo small = new PrefixMemo(20_000);
    Tokenizer demo = Samples.demo();
    Texts texts = new Texts(8);
    for (int i = 0; i < 100; i++) {
      String text = "<|im_start|>" + texts.prose(3000) + "<|im_end|>";
      assertThat(small.tokens(demo, PLAIN, utf8(text), false, () -> { }).chain())
          .isEqualTo(afresh(demo, PLAIN, text, false));
    }
    small.cleanUp();
    assertThat(small.bytes()).isBetween(1L, 20_000L);
  }
}
