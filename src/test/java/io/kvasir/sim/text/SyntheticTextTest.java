package io.kvasir.sim.text;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.prompt.chat.VllmVersion;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class SyntheticTextTest {
  private final ModelText text;
  private final SyntheticText prose;

  SyntheticTextTest() throws IOException {
    text = ModelText.of(null, VllmVersion.NEWEST);
    prose = new SyntheticText(text);
  }

  @Test
  void text_tokenisedAgain_isTheSameTokens() {
    int[] before = text.encode("<|im_start|>assistant\n", false);
    for (int i = 0; i < 50; i++) {
      int[] prompt = IntStream.concat(IntStream.of(i + 300), Arrays.stream(before)).toArray();
      int[] answer = answer(prompt, 0, 200);
      StringBuilder said = new StringBuilder("<|im_start|>assistant\n");
      for (int token : answer) {
        said.append(prose.text(token));
      }

      int[] again = text.encode(said.toString(), false);

      assertThat(Arrays.copyOfRange(again, before.length, again.length)).as(said.toString()).isEqualTo(answer);
    }
  }

  @Test
  void next_forDifferentPrompts_saysDifferentThings() {
    Set<String> said = new HashSet<>();
    for (int i = 0; i < 100; i++) {
      said.add(Arrays.toString(answer(new int[] {i}, 0, 12)));
      said.add(Arrays.toString(answer(new int[] {i}, 1, 12)));
    }

    assertThat(said).hasSize(200);
  }

  @Test
  void next_whenItMay_endsAfterAFullStop() {
    int ended = 0;
    for (int i = 0; i < 100; i++) {
      SyntheticText.Writer writer = prose.writerAfter(new int[] {i, text.eos()}, 0);
      int previous = -1;
      for (int length = 0; length < 2000; length++) {
        int token = writer.next(true);
        if (token == text.eos()) {
          assertThat(prose.text(previous)).isEqualTo(".");
          ended++;
          break;
        }
        previous = token;
      }
    }
    assertThat(ended).isEqualTo(100);
  }

  @Test
  void after_halfAnAnswer_goesOnAsTheWholeDid() {
    int[] prompt = {5, 6, 7};
    int[] whole = answer(prompt, 0, 100);
    for (int cut = 0; cut < 100; cut++) {
      int[] longer = IntStream.concat(IntStream.of(prompt), Arrays.stream(whole, 0, cut)).toArray();

      assertThat(answer(longer, 0, 100 - cut)).as("cut at " + cut).isEqualTo(Arrays.copyOfRange(whole, cut, 100));
    }
  }

  private int[] answer(int[] prompt, int variant, int length) {
    SyntheticText.Writer writer = prose.writerAfter(prompt, variant);
    return IntStream.range(0, length).map(i -> writer.next(false)).toArray();
  }
}
