package io.kvasir.execution.attempt;

import io.kvasir.execution.Call.ClientHttp;
import io.kvasir.time.NanoClock;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The requests that no worker gets for a while. They are remembered by a salted digest of their method, target and
 * body, so neither are prompts kept nor can another request be made to be taken for one. At most {@value
 * #MAX_REQUESTS}, the latest; each for the same time. While there is none, as always but after a disaster, a look-up is
 * one read; a request is digested only when its length is that of one in quarantine. Thread-safe.
 */
final class Quarantine {
  static final int MAX_REQUESTS = 1024;

  private final @Nullable Duration time;
  private final NanoClock clock;
  private final byte[] salt = new byte[32];
  /** By when they came, the earliest first. */
  private volatile List<Entry> entries = List.of();

  private record Entry(byte[] digest, int length, long until) {}

  /** An empty one; {@code time} is how long requests stay, null for not at all. */
  Quarantine(@Nullable Duration time, NanoClock clock) {
    this.time = time;
    this.clock = clock;
    new SecureRandom().nextBytes(salt);
  }

  /** Whether a request is in quarantine now. */
  boolean contains(ClientHttp request) {
    List<Entry> known = entries;
    if (known.isEmpty()) {
      return false;
    }
    long now = clock.nanos();
    if (known.getLast().until - now <= 0) {
      removeExpired(now);
      return false;
    }
    byte[] digest = null;
    for (Entry entry : known) {
      if (entry.length == request.body().length && entry.until - now > 0) {
        digest = digest == null ? digest(request) : digest;
        if (MessageDigest.isEqual(entry.digest, digest)) {
          return true;
        }
      }
    }
    return false;
  }

  /** Puts a request into quarantine; whether it was not in it before. */
  synchronized boolean add(ClientHttp request) {
    if (time == null || contains(request)) {
      return false;
    }
    long now = clock.nanos();
    removeExpired(now);
    List<Entry> all = new ArrayList<>(entries);
    all.add(new Entry(digest(request), request.body().length, now + time.toNanos()));
    entries = List.copyOf(all.subList(Math.max(0, all.size() - MAX_REQUESTS), all.size()));
    return true;
  }

  private synchronized void removeExpired(long now) {
    entries = entries.stream().filter(entry -> entry.until - now > 0).toList();
  }

  private byte[] digest(ClientHttp request) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(salt);
      digest.update((request.method() + ' ' + request.target() + '\n').getBytes(StandardCharsets.UTF_8));
      return digest.digest(request.body());
    } catch (NoSuchAlgorithmException impossible) {
      throw new AssertionError("every Java has SHA-256", impossible);
    }
  }
}
