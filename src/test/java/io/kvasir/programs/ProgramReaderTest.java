package io.kvasir.programs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class ProgramReaderTest {
  private final ProgramReader reader =
      new ProgramReader(
          new ProgramSources(
              List.of("x-agent", "x-session"), List.of("meta.program", "key"), List.of("x-parent", "x-session"),
              List.of("meta.parent"), List.of("x-final")));

  @Test
  void read_theFirstOfTheList_headersBeforeFields() {
    assertThat(read(Map.of("x-session", "s", "x-agent", "a"), Map.of("key", "k")))
        .isEqualTo(new ProgramMark("t/a", "t/s", false));
    assertThat(read(Map.of(), Map.of("key", "k", "meta.program", "p", "meta.parent", "q")))
        .isEqualTo(new ProgramMark("t/p", "t/q", false));
  }

  @Test
  void read_aProgramThatIsItsOwnParent_hasNone() {
    assertThat(read(Map.of("x-session", "s"), Map.of())).isEqualTo(new ProgramMark("t/s", null, false));
  }

  @Test
  void read_theEnd_whenTheHeaderSaysSo() {
    assertThat(read(Map.of("x-agent", "a", "x-final", "True"), Map.of()).last()).isTrue();
    assertThat(read(Map.of("x-agent", "a", "x-final", "1"), Map.of()).last()).isTrue();
    assertThat(read(Map.of("x-agent", "a", "x-final", "false"), Map.of()).last()).isFalse();
  }

  @Test
  void read_nothing_isNone() {
    assertThat(read(Map.of("x-final", "true"), Map.of("other", "o"))).isEqualTo(ProgramMark.NONE);
  }

  @Test
  void read_aLongName_isCut() {
    assertThat(read(Map.of("x-agent", "a".repeat(5000)), Map.of()).program())
        .hasSize("t/".length() + ProgramReader.MAX_LENGTH);
  }

  @Test
  void read_anotherTenantsName_isAnotherProgram() {
    assertThat(reader.read(Map.of("x-agent", "a")::get, _ -> null, "other").program()).isEqualTo("other/a");
  }

  private ProgramMark read(Map<String, String> headers, Map<String, String> fields) {
    return reader.read(headers::get, fields::get, "t");
  }
}
