package io.kvasir.events;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HexFormat;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The load that SGLang publishes. The bytes are what msgspec 0.21 makes of SGLang 0.5.23's {@code LoadStat}. */
final class LoadMessageTest {
  /** {@code LoadStat(7, 300, 70000, 131072, 1, 5000, 75000, 256, 5000000000, 123456)}. */
  private static final String WHOLE =
      "9ba84c6f61645374617407cd012cce00011170ce0002000001cd1388ce000124f8cd0100cf000000012a05f200ce0001e240";

  private static byte[] bytes(String hex) {
    return HexFormat.of().parseHex(hex);
  }

  @Test
  void decode_readsWhatSglangWrites() {
    assertThat(LoadMessage.decode(bytes(WHOLE))).isEqualTo(new LoadMessage(7, 300, 70_000, 131_072));
  }

  /** {@code LoadStat(0, 0, 0, 0)}: no rank, no capacity. */
  @Test
  void decode_readsDefaults() {
    assertThat(LoadMessage.decode(bytes("9ba84c6f61645374617400000000c00000000000")))
        .isEqualTo(new LoadMessage(0, 0, 0, 0));
  }

  /** As versions before those fields were appended. */
  @Test
  void decode_readsThePrefixThatEveryVersionHas() {
    assertThat(LoadMessage.decode(bytes("96a84c6f61645374617407cd012cce00011170ce0002000001")))
        .isEqualTo(new LoadMessage(7, 300, 70_000, 131_072));
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "", // nothing
    "6e6f206d657373616765", // no array
    "94a84c6f6164537461740000", // fields are missing, and the end
    "94a84c6f616453746174000000", // too few fields
    "96a84c6f61645374617a0000000000", // another tag
    "96a84c6f616453746174ff00000000", // less than no requests
    "96a84c6f6164537461740000ff0000", // less than no tokens
    "96a84c6f61645374617400c0000000", // nil
    "96a84c6f616453746174cf7fffffffffffffff00000000", // more requests than an engine has
    "96a84c6f6164537461740000cfffffffffffffffff0000", // a number beyond 63 bits
  })
  void decode_ofWhatIsNone_isNull(String hex) {
    assertThat(LoadMessage.decode(bytes(hex))).isNull();
  }

  @Test
  void decode_ofAnyBytes_neverThrows() {
    SplittableRandom random = new SplittableRandom(0x6c6f6164L);
    for (int i = 0; i < 20_000; i++) {
      byte[] bytes = Arrays.copyOf(bytes(WHOLE), random.nextInt(60));
      for (int changes = random.nextInt(4); changes > 0 && bytes.length > 0; changes--) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
      }
      LoadMessage load = LoadMessage.decode(bytes);
      if (load != null) {
        assertThat(load.running()).isNotNegative();
        assertThat(load.waiting()).isNotNegative();
        assertThat(load.tokens()).isNotNegative();
        assertThat(load.maxTokens()).isNotNegative();
      }
    }
  }
}
