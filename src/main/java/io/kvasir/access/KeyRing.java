package io.kvasir.access;

import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** The keys of a router at one moment, by digest. Immutable: a change makes another ring. */
public final class KeyRing {
  /** No keys. */
  public static final KeyRing EMPTY = new KeyRing(Map.of());

  /** A digest's key: what a request with it is answered. */
  static final class Entry {
    private final Authentication.Accepted accepted;
    private final String id;
    private final boolean disabled;
    private final long expiryMillis;
    private final AtomicBoolean refusalLogged = new AtomicBoolean();

    private Entry(ApiKey key, Limits tenantLimits, @Nullable Instant notAfter) {
      this.accepted =
          new Authentication.Accepted(
              new Caller(key.id(), key.tenant(), key.grants(), key.limits(), tenantLimits));
      this.id = key.id();
      this.disabled = key.disabled();
      this.expiryMillis = notAfter == null ? Long.MAX_VALUE : notAfter.toEpochMilli();
    }

    Authentication.Accepted accepted() {
      return accepted;
    }

    String id() {
      return id;
    }

    boolean isDisabled() {
      return disabled;
    }

    boolean isExpired(long nowMillis) {
      return nowMillis > expiryMillis;
    }

    /** Whether this is the first refusal, which is the only one that is logged. */
    boolean isFirstRefusal() {
      return !refusalLogged.get() && refusalLogged.compareAndSet(false, true);
    }
  }

  private final Map<KeyDigest, Entry> entries;

  private KeyRing(Map<KeyDigest, Entry> entries) {
    this.entries = entries;
  }

  /**
   * A ring of keys.
   *
   * @param keys with ids and digests of their own
   * @param tenantLimits the limits of tenants that have any, by name
   */
  public static KeyRing of(Collection<ApiKey> keys, Map<String, Limits> tenantLimits) {
    Map<KeyDigest, Entry> entries = HashMap.newHashMap(keys.size());
    for (ApiKey key : keys) {
      Limits limits = tenantLimits.getOrDefault(key.tenant(), Limits.NONE);
      ApiKey.PreviousDigest previous = key.previous();
      if (previous != null) {
        entries.putIfAbsent(previous.digest(), new Entry(key, limits, earlier(previous.notAfter(), key.notAfter())));
      }
      entries.put(key.digest(), new Entry(key, limits, key.notAfter()));
    }
    return new KeyRing(entries);
  }

  /** What a digest stands for, null when it is no key's. */
  @Nullable Entry find(KeyDigest digest) {
    return entries.get(digest);
  }

  private static Instant earlier(Instant one, @Nullable Instant other) {
    return other == null || one.isBefore(other) ? one : other;
  }
}
