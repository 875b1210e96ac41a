package io.kvasir.cell.events;

import io.kvasir.index.BlockHash;
import io.kvasir.index.WorkerBlocks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Which cache salt the chain of an engine key is under, for keys that have one: an engine names the salt
 * with a prompt's first block only, yet it shifts the hash of every block that follows.
 *
 * <p>Flat and open-addressed, 12 bytes a slot, a salt counted once however many blocks are under it; both
 * go when the last block does. No more entries than blocks held. One thread at a time.
 */
public final class EventSalts {
  private static final int FREE = 0;

  private long[] keys = new long[16];
  /** Number of the key's salt, {@link #FREE} where there is no key. */
  private int[] numbers = new int[16];

  private int size;
  private final Map<String, Integer> byText = new HashMap<>();
  private final List<@Nullable String> texts = new ArrayList<>();
  private int[] uses = new int[16];
  private final List<Integer> freeNumbers = new ArrayList<>();

  /** No key is under a salt. */
  public EventSalts() {
    texts.add(null);
  }

  boolean isEmpty() {
    return size == 0;
  }

  int size() {
    return size;
  }

  @Nullable String of(long key) {
    return size == 0 ? null : texts.get(numbers[find(key)]);
  }

  /** The first {@code count} keys were registered, under a salt or, where it is null, under none. */
  public void stored(long[] of, int count, @Nullable String salt) {
    if (salt != null) {
      put(of, count, salt);
    } else if (size != 0) {
      for (int i = 0; i < count; i++) {
        remove(of[i]);
      }
    }
  }

  /** Copies of these blocks were removed: forgets those that the worker does not hold any more. */
  public void removed(long[] of, WorkerBlocks blocks) {
    if (size != 0) {
      for (long key : of) {
        if (blocks.hashOf(key) == BlockHash.NONE) {
          remove(key);
        }
      }
    }
  }

  /** Every salt with the keys that are under it. */
  public Map<String, long[]> bySalt() {
    Map<String, long[]> all = new HashMap<>();
    int[] filled = new int[texts.size()];
    for (int at = 0; at < keys.length; at++) {
      int number = numbers[at];
      if (number != FREE) {
        String salt = Objects.requireNonNull(texts.get(number));
        all.computeIfAbsent(salt, _ -> new long[uses[number]])[filled[number]++] = keys[at];
      }
    }
    return all;
  }

  /** Puts the first {@code count} keys under a salt; what they were under before is forgotten. */
  public void put(long[] of, int count, String salt) {
    if (count == 0) {
      return;
    }
    int number = number(salt);
    for (int i = 0; i < count; i++) {
      if (2 * (size + 1) > keys.length) {
        grow();
      }
      int at = find(of[i]);
      uses[number]++;
      if (numbers[at] == FREE) {
        size++;
        keys[at] = of[i];
      } else {
        release(numbers[at]);
      }
      numbers[at] = number;
    }
  }

  void remove(long key) {
    int at = find(key);
    if (numbers[at] == FREE) {
      return;
    }
    release(numbers[at]);
    size--;
    // Close the hole: whatever could not stand here before may now.
    int mask = keys.length - 1;
    for (int next = (at + 1) & mask; numbers[next] != FREE; next = (next + 1) & mask) {
      if (((next - slot(keys[next])) & mask) >= ((next - at) & mask)) {
        keys[at] = keys[next];
        numbers[at] = numbers[next];
        at = next;
      }
    }
    numbers[at] = FREE;
  }

  /** No key is any more. */
  public void clear() {
    keys = new long[16];
    numbers = new int[16];
    uses = new int[16];
    size = 0;
    byText.clear();
    texts.clear();
    texts.add(null);
    freeNumbers.clear();
  }

  private int number(String salt) {
    Integer known = byText.get(salt);
    if (known != null) {
      return known;
    }
    int number;
    if (freeNumbers.isEmpty()) {
      number = texts.size();
      texts.add(salt);
      if (number == uses.length) {
        uses = Arrays.copyOf(uses, 2 * number);
      }
    } else {
      number = freeNumbers.removeLast();
      texts.set(number, salt);
    }
    byText.put(salt, number);
    return number;
  }

  private void release(int number) {
    if (--uses[number] == 0) {
      byText.remove(texts.set(number, null));
      freeNumbers.add(number);
    }
  }

  /** Where the key is, or the free slot where it would go. */
  private int find(long key) {
    int mask = keys.length - 1;
    int at = slot(key);
    while (numbers[at] != FREE && keys[at] != key) {
      at = (at + 1) & mask;
    }
    return at;
  }

  private int slot(long key) {
    return (int) ((key * 0x9E3779B97F4A7C15L) >>> 32) & (keys.length - 1);
  }

  private void grow() {
    long[] oldKeys = keys;
    int[] oldNumbers = numbers;
    keys = new long[2 * oldKeys.length];
    numbers = new int[keys.length];
    for (int i = 0; i < oldKeys.length; i++) {
      if (oldNumbers[i] != FREE) {
        int at = find(oldKeys[i]);
        keys[at] = oldKeys[i];
        numbers[at] = oldNumbers[i];
      }
    }
  }
}
