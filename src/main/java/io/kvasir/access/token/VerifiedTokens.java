package io.kvasir.access.token;

import io.kvasir.access.Authentication.Accepted;
import io.kvasir.access.KeyDigest;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The tokens that have been verified of late with one set of keys, by digest. When there are many, those that have not
 * been used for the longest time are forgotten, half of them at a time. Thread-safe; a lookup takes no lock.
 */
final class VerifiedTokens {
  /** A token's caller, and until when. */
  record Verified(Accepted accepted, long expiryMillis) {}

  private final int capacity;
  private volatile Halves halves = new Halves(new ConcurrentHashMap<>());

  /**
   * None yet.
   *
   * @param capacity how many tokens it may hold, about
   */
  VerifiedTokens(int capacity) {
    this.capacity = capacity;
  }

  @Nullable Verified find(KeyDigest digest) {
    Halves now = halves;
    Verified found = now.recent.get(digest);
    if (found == null) {
      found = now.older.get(digest);
      if (found != null) {
        put(digest, found);
      }
    }
    return found;
  }

  void put(KeyDigest digest, Verified token) {
    Halves now = halves;
    now.recent.put(digest, token);
    if (now.recent.mappingCount() >= capacity / 2) {
      turn(now);
    }
  }

  private synchronized void turn(Halves full) {
    if (halves == full) {
      halves = new Halves(full.recent);
    }
  }

  long size() {
    Halves now = halves;
    return now.recent.mappingCount() + now.older.mappingCount();
  }

  private static final class Halves {
    private final ConcurrentHashMap<KeyDigest, Verified> recent = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<KeyDigest, Verified> older;

    Halves(ConcurrentHashMap<KeyDigest, Verified> older) {
      this.older = older;
    }
  }
}
