package io.kvasir.prompt.template;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class RenderedTextTest {
  @Test
  void nothing_isEmpty() {
    assertThat(new RenderedText().utf8()).isEmpty();
    assertThat(new RenderedText().toString()).isEmpty();
  }

  @Test
  void parts_areOneText() {
    String[] parts = {"", "a", "ü", "漢字", "\uD83D\uDE00", "\uD83D", "\uDE00", "a long one ".repeat(40),
        "ein langer für sich ".repeat(30), "\uD83D".repeat(300), "\uDE00".repeat(300)};
    Random random = new Random(3);
    for (int i = 0; i < 2000; i++) {
      RenderedText text = new RenderedText();
      StringBuilder expected = new StringBuilder();
      for (int count = random.nextInt(8); count > 0; count--) {
        String part = parts[random.nextInt(parts.length)];
        text.append(part);
        expected.append(part);
      }
      assertThat(text.length()).isEqualTo(expected.length());
      assertThat(text.utf8()).isEqualTo(expected.toString().getBytes(StandardCharsets.UTF_8));
      assertThat(text.toString()).isEqualTo(expected.toString());
    }
  }

  @Test
  void longParts_areShared() {
    String message = "words ".repeat(100);
    assertThat(RenderedText.of(message).toString()).isSameAs(message);
  }
}
