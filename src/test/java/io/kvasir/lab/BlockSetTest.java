package io.kvasir.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class BlockSetTest {
  @Test
  void contains_atRandom_isWhatAHashSetContains() {
    SplittableRandom random = new SplittableRandom(1);
    BlockSet set = new BlockSet();
    Set<Long> expected = new HashSet<>();
    for (int i = 0; i < 20_000; i++) {
      // Few values, many of them with equal lower bits.
      long hash = (long) random.nextInt(2_000) << random.nextInt(40);
      assertThat(set.contains(hash)).isEqualTo(expected.contains(hash));
      set.add(hash);
      expected.add(hash);
      assertThat(set.contains(hash)).isTrue();
    }
    assertThat(expected).contains(0L).hasSizeGreaterThan(2_000);
  }
}
