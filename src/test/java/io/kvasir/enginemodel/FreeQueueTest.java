package io.kvasir.enginemodel;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class FreeQueueTest {
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 20})
  void anyOrderOfChanges_isThatOfAList(int capacity) {
    SplittableRandom random = new SplittableRandom(capacity);
    FreeQueue queue = FreeQueue.full(capacity);
    Deque<Integer> expected = new ArrayDeque<>(IntStream.range(0, capacity).boxed().toList());
    for (int step = 0; step < 20_000; step++) {
      int block = random.nextInt(capacity);
      if (!expected.contains(block)) {
        if (random.nextInt(3) == 0) {
          queue.addFirst(block);
          expected.addFirst(block);
        } else {
          queue.addLast(block);
          expected.addLast(block);
        }
      } else if (random.nextBoolean()) {
        queue.remove(block);
        expected.remove(block);
      } else {
        assertThat(queue.removeFirst()).isEqualTo(expected.removeFirst());
      }
      assertThat(queue.size()).isEqualTo(expected.size());
    }
    while (!expected.isEmpty()) {
      assertThat(queue.removeFirst()).isEqualTo(expected.removeFirst());
    }
  }

  @Test
  void first_hasTheBlocksOfAsManyPlaces() {
    FreeQueue queue = FreeQueue.full(8);
    queue.remove(1);
    int[] blocks = new int[8];

    assertThat(queue.first(3, blocks)).isEqualTo(2);
    assertThat(Arrays.copyOf(blocks, 2)).containsExactly(0, 2);
    assertThat(queue.first(8, blocks)).isEqualTo(7);
  }
}
