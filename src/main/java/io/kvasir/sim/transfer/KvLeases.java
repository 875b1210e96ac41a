package io.kvasir.sim.transfer;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The sequences whose blocks an engine keeps for others, each under an id and until they are fetched, released or
 * expired. A request for blocks may come before or after their offer. Thread-safe.
 */
final class KvLeases {
  private final Map<String, KvLease> entries = new HashMap<>();
  private final Duration lease;
  private final ScheduledExecutorService timer;
  private final LongAdder sent = new LongAdder();
  private final LongAdder expired = new LongAdder();
  private final LongAdder heartbeats = new LongAdder();

  KvLeases(Duration lease, ScheduledExecutorService timer) {
    this.lease = lease;
    this.timer = timer;
  }

  /** The lease of one id. Guarded by the enclosing object. */
  private static final class KvLease {
    final CompletableFuture<LeasedBlocks> offered = new CompletableFuture<>();
    final CompletableFuture<Void> requested = new CompletableFuture<>();
    boolean opened;
    boolean taken;
    @Nullable LeasedBlocks held;
    long expiresNanos;
  }

  /** Announces blocks that are being computed; false when the id is in use already. */
  synchronized boolean open(String id) {
    KvLease entry = entry(id);
    boolean fresh = !entry.opened;
    entry.opened = true;
    return fresh;
  }

  /** Completes when the blocks of {@code id} have been requested. */
  synchronized CompletableFuture<Void> requested(String id) {
    return entry(id).requested;
  }

  /** Offers computed blocks, and starts their lease. */
  synchronized void offer(String id, LeasedBlocks held) {
    KvLease entry = entry(id);
    entry.held = held;
    entry.expiresNanos = System.nanoTime() + lease.toNanos();
    expireLater(id, entry);
    entry.offered.complete(held);
  }

  /** Withdraws an announcement; a waiting receiver is not notified, as with the real engines. */
  synchronized void withdraw(String id) {
    KvLease entry = entries.get(id);
    if (entry != null && entry.held == null) {
      entries.remove(id);
    }
  }

  /**
   * Requests blocks, once.
   *
   * @return completes when they are there; null when they are not and {@code wait} is false, or were taken before
   */
  synchronized @Nullable CompletableFuture<LeasedBlocks> take(String id, boolean wait) {
    KvLease entry = wait ? entry(id) : entries.get(id);
    if (entry == null || entry.taken || (!wait && entry.held == null)) {
      return null;
    }
    entry.taken = true;
    entry.requested.complete(null);
    return entry.offered;
  }

  /** Undoes a request whose receiver closed the connection or timed out. */
  synchronized void abandon(String id) {
    KvLease entry = entries.get(id);
    if (entry != null && entry.held == null) {
      if (entry.opened) {
        entry.taken = false;
      } else {
        entries.remove(id);
      }
    }
  }

  /** Frees the blocks of {@code id}, copied or no longer needed. */
  void release(String id, boolean copied) {
    LeasedBlocks held;
    synchronized (this) {
      KvLease entry = entries.get(id);
      if (entry == null || entry.held == null) {
        return;
      }
      entries.remove(id);
      held = entry.held;
    }
    if (copied) {
      sent.increment();
    }
    held.release().run();
  }

  /** Extends the lease of {@code id} by two thirds of its duration. */
  synchronized void renew(String id) {
    KvLease entry = entries.get(id);
    if (entry != null && entry.held != null) {
      heartbeats.increment();
      entry.expiresNanos = Math.max(entry.expiresNanos, System.nanoTime() + lease.toNanos() * 2 / 3);
    }
  }

  synchronized int held() {
    return (int) entries.values().stream().filter(entry -> entry.held != null).count();
  }

  long sent() {
    return sent.sum();
  }

  long expired() {
    return expired.sum();
  }

  long heartbeats() {
    return heartbeats.sum();
  }

  private KvLease entry(String id) {
    return entries.computeIfAbsent(id, any -> new KvLease());
  }

  private void expireLater(String id, KvLease entry) {
    long left = Math.max(0, entry.expiresNanos - System.nanoTime());
    var _ = timer.schedule(() -> expire(id, entry), left, TimeUnit.NANOSECONDS);
  }

  @SuppressWarnings("ReferenceEquality") // another entry under the same id has a lease of its own
  private void expire(String id, KvLease entry) {
    LeasedBlocks held;
    synchronized (this) {
      if (entries.get(id) != entry || entry.held == null) {
        return;
      }
      if (entry.expiresNanos - System.nanoTime() > 0) {
        expireLater(id, entry);
        return;
      }
      entries.remove(id);
      held = entry.held;
    }
    expired.increment();
    held.release().run();
  }
}
