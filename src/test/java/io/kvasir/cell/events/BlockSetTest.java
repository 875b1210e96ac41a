package io.kvasir.cell.events;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("lock-free")
final class BlockSetTest {
  @Test
  void anySequence_isThatOfCountedCopies() {
    for (int seed = 0; seed < 200; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      BlockSet set = new BlockSet();
      Map<Long, Integer> copies = new HashMap<>();
      int range = 1 + random.nextInt(300);
      for (int i = 0; i < 3_000; i++) {
        long hash = 1L + random.nextInt(range);
        boolean counted = random.nextInt(4) > 0;
        if (random.nextInt(100) < (i / 500 % 2 == 0 ? 70 : 30)) {
          set.add(hash, counted);
          copies.merge(hash, 1, (before, one) -> counted ? before + one : before);
        } else {
          boolean gone = copies.computeIfPresent(hash, (_, n) -> counted && n > 1 ? n - 1 : null) == null;
          assertThat(set.remove(hash, counted)).isEqualTo(gone);
        }
        assertThat(set.contains(hash)).isEqualTo(copies.containsKey(hash));
        assertThat(set.size()).isEqualTo(copies.size());
      }
      for (long hash = 1; hash <= range; hash++) {
        assertThat(set.contains(hash)).isEqualTo(copies.containsKey(hash));
      }
      set.clear();
      assertThat(set.contains(1)).isFalse();
    }
  }

  @Test
  void whatMarksPlaces_isNeverHeld() {
    BlockSet set = new BlockSet();
    for (long mark : new long[] {0, -1}) {
      set.add(mark, true);
      assertThat(set.contains(mark)).isFalse();
      assertThat(set.remove(mark, true)).isTrue();
    }
    set.add(5, true);
    assertThat(set.remove(5, true)).isTrue();
    assertThat(set.contains(-1)).as("the mark of what was removed").isFalse();
    assertThat(set.size()).isZero();
  }

  /** What is there all the time is found all the time, whatever comes, goes, and makes the table anew around it. */
  @Test
  void readers_beside_theWriter_seeWhatStaysAndNeverWhatIsNotThere() throws InterruptedException {
    BlockSet set = new BlockSet();
    SplittableRandom random = new SplittableRandom(1);
    long[] lasting = random.longs(64, 1, Long.MAX_VALUE).toArray();
    long[] absent = random.longs(64, 1, Long.MAX_VALUE).toArray();
    long[] passing = random.longs(4_096, 1, Long.MAX_VALUE).toArray();
    for (long hash : lasting) {
      set.add(hash, true);
    }
    AtomicBoolean over = new AtomicBoolean();
    AtomicLong wrong = new AtomicLong();
    AtomicLong looks = new AtomicLong();
    CountDownLatch looking = new CountDownLatch(2);
    Thread[] readers = new Thread[2];
    for (int i = 0; i < readers.length; i++) {
      readers[i] = Thread.ofPlatform().start(() -> {
        while (!over.get()) {
          for (int j = 0; j < lasting.length; j++) {
            wrong.addAndGet((set.contains(lasting[j]) ? 0 : 1) + (set.contains(absent[j]) ? 1 : 0));
          }
          looks.incrementAndGet();
          looking.countDown();
        }
      });
    }
    looking.await();
    for (int round = 0; round < 60; round++) {
      for (long hash : passing) {
        set.add(hash, true);
      }
      for (long hash : passing) {
        boolean _ = set.remove(hash, true);
      }
    }
    over.set(true);
    for (Thread reader : readers) {
      reader.join();
    }
    assertThat(wrong.get()).isZero();
    assertThat(looks.get()).isPositive();
  }
}
