package io.kvasir.enginemodel;

import java.util.Arrays;

/**
 * The free blocks of a cache, in the order in which they are allocated. A block can leave the middle; its place stays
 * empty until the queue is packed, which costs a step for each block that has come since the last time. The next ones
 * lie beside each other, so that what is known of them can be read at once. Not thread-safe.
 */
final class FreeQueue {
  private static final int EMPTY = -1;

  /** A power of two, at least twice as many as there are blocks. */
  private final int[] places;

  /** Where each free block is. */
  private final int[] placeOf;

  /** The first place in use, and that after the last; places are counted on and on. */
  private int front;

  private int back;
  private int size;

  private FreeQueue(int capacity) {
    this.places = new int[Integer.highestOneBit(capacity) << 2];
    this.placeOf = new int[capacity];
  }

  /** The blocks 0 to {@code capacity} − 1, in this order. */
  static FreeQueue full(int capacity) {
    FreeQueue all = new FreeQueue(capacity);
    for (int block = 0; block < capacity; block++) {
      all.addLast(block);
    }
    return all;
  }

  /** None of these blocks yet. */
  static FreeQueue empty(int capacity) {
    return new FreeQueue(capacity);
  }

  int size() {
    return size;
  }

  void addLast(int block) {
    if (back - front == places.length) {
      pack();
    }
    put(back++, block);
  }

  void addFirst(int block) {
    if (back - front == places.length) {
      pack();
    }
    put(--front, block);
  }

  private void put(int place, int block) {
    int at = place & (places.length - 1);
    places[at] = block;
    placeOf[block] = at;
    size++;
  }

  /** Removes the first block; there is one. */
  int removeFirst() {
    int block = EMPTY;
    while (block == EMPTY) {
      block = places[front++ & (places.length - 1)];
    }
    size--;
    return block;
  }

  /** Removes a block that is in the queue. */
  void remove(int block) {
    places[placeOf[block]] = EMPTY;
    size--;
  }

  /** The first blocks, {@code most} or as many as are at as many places from the front on; returns how many. */
  int first(int most, int[] blocks) {
    int count = 0;
    int to = front + Math.min(most, back - front);
    for (int place = front; place != to; place++) {
      int block = places[place & (places.length - 1)];
      blocks[count] = block;
      count += block == EMPTY ? 0 : 1;
    }
    return count;
  }

  private void pack() {
    int[] blocks = new int[size];
    int count = 0;
    for (int place = front; place != back; place++) {
      int block = places[place & (places.length - 1)];
      if (block != EMPTY) {
        blocks[count++] = block;
      }
    }
    Arrays.fill(places, EMPTY);
    front = 0;
    back = 0;
    size = 0;
    for (int block : blocks) {
      put(back++, block);
    }
  }
}
