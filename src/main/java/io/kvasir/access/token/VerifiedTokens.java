package io.kvasir.access.token;

import io.kvasir.access.Authentication.Accepted;
import io.kvasir.access.KeyDigest;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The tokens that have been verified of late, by digest. When there are many, those that have not been used for the
 * longest time are forgotten, half of them at a time. Thread-safe; a lookup takes no lock.
 */
final class VerifiedTokens {
  /** A token's caller, and until when. */
  record Verified(Accepted accepted, long expiryMillis) {}

  private final int capacity;
  private volatile ConcurrentHashMap<KeyDigest, Verified> recent = new ConcurrentHashMap<>();
  private volatile ConcurrentHashMap<KeyDigest, Verified> older = new ConcurrentHashMap<>();

  /**
   * An empty cache.
   *
   * @param capacity how many tokens it may hold, about
   */
  VerifiedTokens(int capacity) {
    this.capacity = capacity;
  }

  @Nullable Verified find(KeyDigest digest) {
    Verified found = recent.get(digest);
    if (found == null) {
      found = older.get(digest);
      if (found != null) {
        put(digest, found);
      }
    }
    return found;
  }

  void put(KeyDigest digest, Verified token) {
    if (recent.mappingCount() >= capacity / 2) {
      turn();
    }
    recent.put(digest, token);
  }

  synchronized void clear() {
    recent = new ConcurrentHashMap<>();
    older = new ConcurrentHashMap<>();
  }

  long size() {
    return recent.mappingCount() + older.mappingCount();
  }

  private synchronized void turn() {
    if (recent.mappingCount() >= capacity / 2) {
      older = recent;
      recent = new ConcurrentHashMap<>();
    }
  }
}
