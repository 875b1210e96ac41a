package io.kvasir.app.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

final class PaletteTest {
  @Test
  void environment_decides() {
    assertThat(Palette.of(Map.of("TERM", "xterm-256color"))).isEqualTo(Palette.WIDE);
    assertThat(Palette.of(Map.of("TERM", "alacritty", "COLORTERM", "truecolor"))).isEqualTo(Palette.WIDE);
    assertThat(Palette.of(Map.of("TERM", "linux"))).isEqualTo(Palette.BASIC);
    assertThat(Palette.of(Map.of("TERM", "dumb"))).isEqualTo(Palette.NONE);
    assertThat(Palette.of(Map.of())).isEqualTo(Palette.NONE);
  }

  @Test
  void noColor_withAnyValue_isHeeded() {
    assertThat(Palette.of(Map.of("TERM", "xterm-256color", "NO_COLOR", "0"))).isEqualTo(Palette.NONE);
    assertThat(Palette.of(Map.of("TERM", "xterm-256color", "NO_COLOR", ""))).isEqualTo(Palette.WIDE);
  }

  @Test
  void none_hasNoEscapeSequences() {
    for (Style style : Style.values()) {
      assertThat(Palette.NONE.paint("text", style)).isEqualTo("text");
    }
  }
}
