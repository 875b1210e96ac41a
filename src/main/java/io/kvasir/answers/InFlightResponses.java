package io.kvasir.answers;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The answers on their way. Thread-safe.
 *
 * @param <H> what is known of an answer before its body
 */
public final class InFlightResponses<H> {
  private final AnswerCache cache;
  private final ConcurrentMap<AnswerKey, SharedResponse<H>> joinable = new ConcurrentHashMap<>();
  private final AtomicLong reservedBytes = new AtomicLong();

  /** Flights whose answers go into a cache. */
  public InFlightResponses(AnswerCache cache) {
    this.cache = cache;
  }

  /**
   * A seat in the flight that brings the answer to a request: in one under way where they are shared, else in a new
   * one, which {@link SharedResponse.Subscriber#leader} then says is the caller's to fly.
   *
   * @return null when too many wait already
   */
  public SharedResponse<H>.@Nullable Subscriber join(Lookup.Miss miss) {
    if (!isSharing() || miss.refresh()) {
      return new SharedResponse<>(this, miss, false).firstSubscriber();
    }
    while (true) {
      SharedResponse<H> flight = joinable.get(miss.key());
      if (flight != null) {
        SharedResponse.JoinResult<H> joining = flight.subscribe(miss.flushCount(), cache.settings().maxWaiters());
        if (joining.subscriber() != null) {
          cache.metrics().sharing(true);
          return joining.subscriber();
        }
        if (joining.full()) {
          cache.metrics().bypassed(Bypass.CROWDED);
          return null;
        }
      }
      SharedResponse<H> fresh = new SharedResponse<>(this, miss, true);
      SharedResponse<H>.Subscriber seat = fresh.firstSubscriber();
      boolean ours = flight == null
          ? joinable.putIfAbsent(miss.key(), fresh) == null
          : joinable.replace(miss.key(), flight, fresh);
      if (ours) {
        return seat;
      }
    }
  }

  AnswerCache cache() {
    return cache;
  }

  boolean isSharing() {
    return cache.settings().shareInFlight();
  }

  void remove(AnswerKey key, SharedResponse<H> flight) {
    joinable.remove(key, flight);
  }

  /** Takes room to write an answer down; false when there is none. */
  boolean tryReserve(int bytes) {
    if (reservedBytes.addAndGet(bytes) > cache.settings().recordingBytes()) {
      reservedBytes.addAndGet(-bytes);
      return false;
    }
    cache.metrics().recording(bytes);
    return true;
  }

  void release(long bytes) {
    reservedBytes.addAndGet(-bytes);
    cache.metrics().recording(-bytes);
  }
}
