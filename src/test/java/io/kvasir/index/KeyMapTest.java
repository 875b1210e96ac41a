package io.kvasir.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The map of one worker beside a {@link HashMap}, for keys at random and for those that meet in a few cells. */
final class KeyMapTest {
  private static final long INVERSE =
      BigInteger.valueOf(0x9E3779B97F4A7C15L).modInverse(BigInteger.ONE.shiftLeft(64)).longValue();

  /** The keys of a crowd agree in bits that decide the home cell; those alike have one of two tags, too. */
  @ParameterizedTest
  @CsvSource({
    "spread, -1, 0",
    "first, 0xFFFFFFFFFF, 0",
    "last, 0xFFFFFFFFFF, -0x10000000000",
    "alike, 0xFF0200FFFF, -0x10000000000"
  })
  void find_afterAnyInsertsAndDeletes_isThatOfAHashMap(String name, long free, long fixed) {
    SplittableRandom random = new SplittableRandom(name.hashCode());
    long[] keys = new long[600];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = INVERSE * ((random.nextLong() & free) | fixed);
    }
    KeyMap map = new KeyMap(new Budget(1 << 20));
    Map<Long, Long> expected = new HashMap<>();
    List<Long> held = new ArrayList<>();
    for (int step = 0; step < 30_000; step++) {
      long key = keys[random.nextInt(keys.length)];
      int entry = map.find(key);
      int any = random.nextInt(map.end() + 1) - 1;
      assertThat(map.find(key, any)).isEqualTo(entry);
      boolean adjacent = any != KeyMap.ABSENT && Math.abs(any - entry) == 1;
      assertThat(map.findNextTo(any, key)).isEqualTo(adjacent ? entry : KeyMap.ABSENT);
      assertThat(entry == KeyMap.ABSENT ? null : Long.valueOf(map.value(entry))).isEqualTo(expected.get(key));
      boolean growing = step / 5000 % 2 == 0;
      if (entry == KeyMap.ABSENT && (growing || random.nextInt(4) == 0)) {
        assertThat(map.reserve(1)).isTrue();
        assertThat(map.find(key)).isEqualTo(KeyMap.ABSENT);
        map.insert(key, KeyMap.withCopies(step, 0, 1));
        expected.put(key, KeyMap.withCopies(step, 0, 1));
        held.add(key);
      } else if (!held.isEmpty() && (!growing || random.nextInt(3) == 0)) {
        long gone = held.remove(random.nextInt(held.size()));
        map.delete(map.find(gone));
        expected.remove(gone);
      }
      assertThat(map.size()).isEqualTo(expected.size());
    }
    int[] places = new int[keys.length];
    long _ = map.touch(keys, 0, keys.length, places, 0);
    for (int i = 0; i < keys.length; i++) {
      assertThat(map.find(keys[i]) != KeyMap.ABSENT).isEqualTo(expected.containsKey(keys[i]));
      assertThat(map.find(keys[i], places[i])).isEqualTo(map.find(keys[i]));
    }
  }
}
