package io.kvasir.sim.lmcache;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Numbers that CPython gives: {@code hash((before, tuple(tokens), ()))}. */
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
}
