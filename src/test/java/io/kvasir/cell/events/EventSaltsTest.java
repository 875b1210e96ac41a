package io.kvasir.cell.events;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class EventSaltsTest {
  @Test
  void randomOperations_behaveAsAMap() {
    SplittableRandom random = new SplittableRandom(7);
    EventSalts salts = new EventSalts();
    Map<Long, String> oracle = new HashMap<>();
    for (int i = 0; i < 200_000; i++) {
      // Few keys that share their low bits: chains of collisions and closed holes.
      long key = (long) random.nextInt(300) << 40;
      switch (random.nextInt(20)) {
        case 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 -> {
          String salt = "salt " + random.nextInt(40);
          salts.put(new long[] {key}, 1, salt);
          oracle.put(key, salt);
        }
        case 10 -> {
          if (random.nextInt(2000) == 0) {
            salts.clear();
            oracle.clear();
          }
        }
        default -> {
          salts.remove(key);
          oracle.remove(key);
        }
      }
      assertThat(salts.size()).isEqualTo(oracle.size());
      long asked = (long) random.nextInt(300) << 40;
      if (!Objects.equals(salts.of(asked), oracle.get(asked))) {
        assertThat(salts.of(asked)).as("key %x after %d operations", asked, i).isEqualTo(oracle.get(asked));
      }
    }
  }

  @Test
  void put_onlyTheFirstKeys() {
    EventSalts salts = new EventSalts();
    salts.put(new long[] {1, 2, 3}, 2, "s");
    assertThat(salts.of(2)).isEqualTo("s");
    assertThat(salts.of(3)).isNull();
  }
}
