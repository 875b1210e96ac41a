package io.kvasir.sim.lmcache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Numbers that CPython gives: {@code hash((before, tuple(tokens), ()))}, and {@code hash("seed")} of 3.11. */
final class ChunkHashesTest {
  @Test
  void chunksOfOnePrompt() {
    int[] tokens = IntStream.range(0, 768).toArray();

    long first = ChunkHashes.next(0, tokens, 0, 256);
    long second = ChunkHashes.next(first, tokens, 256, 512);

    assertThat(first).isEqualTo(3131758554629441992L);
    assertThat(second).isEqualTo(8783757053568497755L);
    assertThat(ChunkHashes.next(second, tokens, 512, 768)).isEqualTo(-3745232253163630700L);
  }

  @Test
  void tokensAreUnsigned() {
    int[] tokens = new int[256];
    Arrays.fill(tokens, -1);

    assertThat(ChunkHashes.next(0, tokens, 0, 256)).isEqualTo(-3278156369771308543L);
  }

  @ParameterizedTest
  @CsvSource({
      "0, 5313149338359954478, 6847123751949154252, -782556766413655621",
      "1, -3509053104883717537, 5969386600972549206, 1724821308644191367",
      "42, 866561823186450123, 6595362112113641629, 1894674230565553754"
  })
  void namesBeginFromTheHashOfTheSeed(long seed, long noneHash, long first, long second) {
    int[] tokens = IntStream.range(0, 512).toArray();

    assertThat(NoneHash.of(seed)).isEqualTo(noneHash);
    assertThat(ChunkHashes.next(noneHash, tokens, 0, 256)).isEqualTo(first);
    assertThat(ChunkHashes.next(first, tokens, 256, 512)).isEqualTo(second);
  }

  @Test
  void seedOutOfPythonsRange_isRefused() {
    assertThatThrownBy(() -> NoneHash.of(-1)).hasMessageContaining("0 to 4294967295");
    assertThatThrownBy(() -> NoneHash.of(1L << 32)).hasMessageContaining("0 to 4294967295");
  }
}
