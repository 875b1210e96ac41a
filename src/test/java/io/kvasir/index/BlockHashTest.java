package io.kvasir.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The published vectors: tokens 1..=32 in blocks of 16. */
final class BlockHashTest {
  private static final int[] TOKENS = IntStream.rangeClosed(1, 32).toArray();

  @Test
  void local_plain() {
    BlockHash hash = BlockHash.in(null, null);
    assertThat(hash.local(TOKENS, 0, 16)).isEqualTo(Long.parseUnsignedLong("16863443419780771464"));
    assertThat(hash.local(TOKENS, 16, 16)).isEqualTo(2287610619914608821L);
  }

  @Test
  void chain_plain() {
    long[] chain = new long[3];
    assertThat(BlockHash.in("", "").chain(BlockHash.NONE, TOKENS, 0, 32, 16, chain, 1)).isEqualTo(2);
    assertThat(chain)
        .containsExactly(
            0, Long.parseUnsignedLong("16863443419780771464"), Long.parseUnsignedLong("12466389667045779788"));
  }

  @Test
  void chain_onlyFullBlocks() {
    long[] chain = new long[2];
    assertThat(BlockHash.in(null, null).chain(BlockHash.NONE, TOKENS, 0, 31, 16, chain, 0)).isEqualTo(1);
    assertThat(chain[1]).isZero();
  }

  @Test
  void local_lora() {
    BlockHash hash = BlockHash.in("my-lora", null);
    assertThat(hash.local(TOKENS, 0, 16)).isEqualTo(4148081000444450790L);
    assertThat(hash.local(TOKENS, 16, 16)).isEqualTo(2866551892415683476L);
  }

  @Test
  void local_cacheSalt() {
    BlockHash hash = BlockHash.in(null, "tenant-a");
    assertThat(hash.local(TOKENS, 0, 16)).isEqualTo(8175209796170318505L);
    assertThat(hash.local(TOKENS, 16, 16)).isEqualTo(Long.parseUnsignedLong("13248293275458056256"));
  }
}
