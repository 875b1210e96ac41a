package io.kvasir.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class KnownPrefixesTest {
  @Test
  void add_chainsThatPartAnywhere_returnsWhatASetOfTheirBlocksFinds() {
    SplittableRandom random = new SplittableRandom(1);
    KnownPrefixes prefixes = new KnownPrefixes();
    Set<Long> blocks = new HashSet<>();
    int found = 0;
    for (int i = 0; i < 20_000; i++) {
      // Few texts with few words, so that they part early, late and never.
      long[] chain = new long[random.nextInt(12)];
      long hash = 0;
      for (int block = 0; block < chain.length; block++) {
        hash = BlockHashes.hashOf(hash * 31 + random.nextInt(block == 0 || random.nextInt(4) > 0 ? 2 : 9));
        chain[block] = hash;
      }
      int length = chain.length == 0 ? 0 : random.nextInt(chain.length + 1);

      int known = prefixes.add(BlockHashes.of(chain), length);

      int expected = 0;
      while (expected < length && blocks.contains(chain[expected])) {
        expected++;
      }
      assertThat(known).as("chain %d, %s of %d", i, Arrays.toString(chain), length).isEqualTo(expected);
      for (int block = 0; block < length; block++) {
        blocks.add(chain[block]);
      }
      found += known > 0 && known < length ? 1 : 0;
    }
    assertThat(found).isGreaterThan(2_000);
  }

  @Test
  void add_aHashAtTwoDepths_isNotKnownAtTheOther() {
    KnownPrefixes prefixes = new KnownPrefixes();
    prefixes.add(BlockHashes.of(1, 2, 3), 3);

    assertThat(prefixes.add(BlockHashes.of(5, 6, 7), 3)).isZero();
    assertThat(prefixes.add(BlockHashes.of(5, 6, 7, 1, 2), 5)).isEqualTo(3);
    assertThat(prefixes.add(BlockHashes.of(7, 6), 2)).isZero();
  }
}
