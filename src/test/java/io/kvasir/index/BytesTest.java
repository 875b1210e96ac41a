package io.kvasir.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The gauge of bytes beside what the heap really holds: every array of numbers that can be reached from an index. */
final class BytesTest {
  /** What a worker's writer works with, whatever it holds; shared empty arrays; the fixed columns of the cell. */
  private static final Set<String> NOT_COUNTED =
      Set.of(
          "placed", "renamed", "released", "slice", "alive", "losses", "sampledEvictions", "sampledBlocks", "zeros",
          "active", "latest");

  private static final Tier[] TIERS = Tier.values();

  @ParameterizedTest
  @ValueSource(ints = {64, 128, 256})
  void bytes_areThoseOfTheArrays(int slots) throws IllegalAccessException {
    BlockIndex index = new BlockIndex(slots, 64 << 20);
    assertThat(index.bytes()).isEqualTo(bytesReachableFrom(index));
    SplittableRandom random = new SplittableRandom(slots);
    for (int worker = 0; worker < 5; worker++) {
      WorkerBlocks blocks = index.open(worker);
      for (int i = 0; i < 300; i++) {
        long[] chain = chain(random.nextInt(400), 1 + random.nextInt(60));
        blocks.store(0, true, chain, chain, chain.length, TIERS[random.nextInt(4)], true);
        blocks.predict(chain(random.nextInt(400), 1 + random.nextInt(90)), i);
        if (i % 3 == 0) {
          blocks.remove(chain, chain.length, Tier.HOST, false);
        }
      }
    }
    assertThat(index.bytes()).isEqualTo(bytesReachableFrom(index));
    index.retire(2);
    index.sweep(2);
    assertThat(index.bytes()).isEqualTo(bytesReachableFrom(index));
  }

  private static long[] chain(int seed, int length) {
    long[] chain = new long[length];
    for (int i = 0; i < length; i++) {
      chain[i] = BlockHash.chained(i == 0 ? BlockHash.NONE : chain[i - 1], seed * 1000L + i);
    }
    return chain;
  }

  private static long bytesReachableFrom(Object root) throws IllegalAccessException {
    Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    Deque<Object> open = new ArrayDeque<>();
    open.add(root);
    long bytes = 0;
    while (!open.isEmpty()) {
      Object at = open.remove();
      if (!seen.add(at)) {
        continue;
      }
      if (at instanceof long[] || at instanceof int[]) {
        bytes += Array.getLength(at) <= 4 ? 0 : 16 + (long) Array.getLength(at) * (at instanceof int[] ? 4 : 8);
      } else if (at instanceof byte[] tags) {
        bytes += tags.length <= 16 ? 0 : 16 + tags.length;
      } else if (at instanceof Object[] these) {
        for (Object one : these) {
          if (one != null) {
            open.add(one);
          }
        }
      } else if (at instanceof AtomicReferenceArray<?> these) {
        for (int i = 0; i < these.length(); i++) {
          if (these.get(i) != null) {
            open.add(these.get(i));
          }
        }
      }
      Class<?> type = at.getClass();
      while (type != null && type.getPackageName().equals(BlockIndex.class.getPackageName())) {
        for (Field field : type.getDeclaredFields()) {
          if (!Modifier.isStatic(field.getModifiers()) && !NOT_COUNTED.contains(field.getName())) {
            field.setAccessible(true);
            @Nullable Object value = field.get(at);
            if (value != null && !field.getType().isPrimitive()) {
              open.add(value);
            }
            if (value != null && field.getName().equals("chunks")) {
              bytes += 8L * (Array.getLength(value) - 16); // the directory, as far as it grew
            }
          }
        }
        type = type.getSuperclass();
      }
    }
    return bytes;
  }
}
