package io.kvasir.lab;

/** A set of blocks' hashes: open addressing by the hashes themselves, which are well distributed. */
final class BlockSet {
  private long[] places = new long[1 << 10];
  private int size;

  /** Hash 0 marks a free place. */
  private boolean hasZero;

  boolean contains(long hash) {
    return hash == 0 ? hasZero : places[place(hash)] == hash;
  }

  void add(long hash) {
    if (hash == 0) {
      hasZero = true;
      return;
    }
    int place = place(hash);
    if (places[place] == hash) {
      return;
    }
    places[place] = hash;
    if (++size > places.length / 2) {
      widen();
    }
  }

  private void widen() {
    long[] narrow = places;
    places = new long[narrow.length * 2];
    for (long hash : narrow) {
      if (hash != 0) {
        places[place(hash)] = hash;
      }
    }
  }

  /** The place of a hash, or the free one where it belongs. */
  private int place(long hash) {
    int place = (int) hash & (places.length - 1);
    while (places[place] != 0 && places[place] != hash) {
      place = (place + 1) & (places.length - 1);
    }
    return place;
  }
}
