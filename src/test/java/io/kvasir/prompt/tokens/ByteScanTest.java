package io.kvasir.prompt.tokens;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ByteScanTest {
  @ParameterizedTest
  @ValueSource(strings = {"", "<", "<[", "<[|", "\u0080<", "\n"})
  void next_isTheFirstThatIsSought(String sought) {
    ByteScan scan = new ByteScan();
    sought.chars().forEach(each -> scan.add((byte) each));
    sought.chars().forEach(each -> scan.add((byte) each));
    byte[] bytes = {'<', '[', '|', '\n', 0, (byte) 0x80, ';', 'a', 'b', (byte) 0xbc, '=', (byte) 0xff, '\t'};
    Random random = new Random(4);
    for (int i = 0; i < 2000; i++) {
      byte[] text = new byte[random.nextInt(140)];
      int among = random.nextBoolean() ? bytes.length : 4;
      int rarity = random.nextBoolean() ? 8 : 60;
      for (int at = 0; at < text.length; at++) {
        text[at] = random.nextInt(rarity) == 0 ? bytes[random.nextInt(among)] : (byte) 'x';
      }
      int from = random.nextInt(text.length + 1);
      int to = from + random.nextInt(text.length - from + 1);
      assertThat(scan.next(text, from, to)).isEqualTo(first(text, from, to, sought));
      int found = scan.nextOrLineBreak(text, from);
      int expected = first(text, from, text.length, sought + "\n");
      if (sought.isEmpty()) {
        // Zero is a place that the caller looks at in vain.
        assertThat(found).isIn(expected, first(text, from, text.length, "\n\0"));
      } else {
        assertThat(found).isEqualTo(expected);
      }
    }
  }

  private static int first(byte[] text, int from, int to, String sought) {
    int at = from;
    while (at < to && sought.indexOf(text[at] & 0xff) < 0) {
      at++;
    }
    return at;
  }
}
