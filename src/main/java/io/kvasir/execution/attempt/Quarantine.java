package io.kvasir.execution.attempt;

import io.kvasir.execution.Call.ClientHttp;
import io.kvasir.time.NanoClock;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
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
  /** How long it is known that a worker died under a request, in times of a quarantine: engines take long to start. */
  static final int SUSPICION_FACTOR = 10;

  private final @Nullable Duration time;
  private final NanoClock clock;
  private final byte[] salt = new byte[32];
  /** By when they came, the earliest first. */
  private volatile List<Entry> entries = List.of();
  /** Ends of suspicions by digest, the earliest first. */
  private final LinkedHashMap<String, Long> suspicions = new LinkedHashMap<>();

  private record Entry(Fingerprint fingerprint, long until) {}

  /** A request as it is remembered. */
  record Fingerprint(byte[] digest, int length) {
    boolean matches(byte[] other) {
      return MessageDigest.isEqual(digest, other);
    }
  }

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
      if (entry.fingerprint.length == request.body().length && entry.until - now > 0) {
        digest = digest == null ? fingerprint(request).digest : digest;
        if (entry.fingerprint.matches(digest)) {
          return true;
        }
      }
    }
    return false;
  }

  /** Notes that a worker died under a request: the second one puts it into quarantine; whether it was not in before. */
  synchronized boolean suspect(Fingerprint fingerprint) {
    if (time == null) {
      return false;
    }
    long now = clock.nanos();
    suspicions.values().removeIf(until -> until - now <= 0);
    String digest = HexFormat.of().formatHex(fingerprint.digest);
    boolean again = suspicions.remove(digest) != null;
    if (suspicions.size() >= MAX_REQUESTS) {
      suspicions.pollFirstEntry();
    }
    suspicions.putLast(digest, now + SUSPICION_FACTOR * time.toNanos());
    return again && add(fingerprint);
  }

  /** Puts a request into quarantine; whether it was not in it before. */
  synchronized boolean add(Fingerprint fingerprint) {
    long now = clock.nanos();
    removeExpired(now);
    if (time == null || entries.stream().anyMatch(entry -> entry.fingerprint.matches(fingerprint.digest))) {
      return false;
    }
    List<Entry> all = new ArrayList<>(entries);
    all.add(new Entry(fingerprint, now + time.toNanos()));
    entries = List.copyOf(all.subList(Math.max(0, all.size() - MAX_REQUESTS), all.size()));
    return true;
  }

  private synchronized void removeExpired(long now) {
    entries = entries.stream().filter(entry -> entry.until - now > 0).toList();
  }

  /** What is remembered of a request. */
  Fingerprint fingerprint(ClientHttp request) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(salt);
      digest.update((request.method() + ' ' + request.target() + '\n').getBytes(StandardCharsets.UTF_8));
      return new Fingerprint(digest.digest(request.body()), request.body().length);
    } catch (NoSuchAlgorithmException impossible) {
      throw new AssertionError("every Java has SHA-256", impossible);
    }
  }
}
