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
  private volatile Generation current = new Generation();

  /**
   * An empty cache.
   *
   * @param capacity how many tokens it may hold, about
   */
  VerifiedTokens(int capacity) {
    this.capacity = capacity;
  }

  /** What is remembered now. To be taken before a token is verified that may be put into it. */
  Generation current() {
    return current;
  }

  /** Forgets all, also what is put into earlier generations from now on. */
  synchronized void clear() {
    current = new Generation();
  }

  private synchronized void turn(Generation full) {
    if (current == full) {
      current = new Generation(full.recent);
    }
  }

  /**
   * The tokens that are remembered until there are too many, or all are to be forgotten. One that is found or verified
   * meanwhile is put where it was looked for, and so does not outlive the others.
   */
  final class Generation {
    private final ConcurrentHashMap<KeyDigest, Verified> recent = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<KeyDigest, Verified> older;

    private Generation() {
      this(new ConcurrentHashMap<>());
    }

    private Generation(ConcurrentHashMap<KeyDigest, Verified> older) {
      this.older = older;
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
      recent.put(digest, token);
      if (recent.mappingCount() >= capacity / 2) {
        turn(this);
      }
    }

    long size() {
      return recent.mappingCount() + older.mappingCount();
    }
  }
}
