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
public final class Flights<H> {
  private final AnswerCache cache;
  private final ConcurrentMap<AnswerKey, Flight<H>> joinable = new ConcurrentHashMap<>();
  private final AtomicLong recorded = new AtomicLong();

  /** Flights whose answers go into a cache. */
  public Flights(AnswerCache cache) {
    this.cache = cache;
  }

  /**
   * A seat in the flight that brings the answer to a request: in one under way where they are shared, else in a new
   * one, which {@link Flight.Seat#leads} then says is the caller's to fly.
   *
   * @return null when too many wait already
   */
  public Flight<H>.@Nullable Seat board(Lookup.Miss miss) {
    if (!shares() || miss.refresh()) {
      return new Flight<>(this, miss, false).first();
    }
    while (true) {
      Flight<H> flight = joinable.get(miss.key());
      if (flight != null) {
        Flight.Joining<H> joining = flight.join(miss.mark(), cache.settings().maxWaiters());
        if (joining.seat() != null) {
          cache.metrics().sharing(true);
          return joining.seat();
        }
        if (joining.crowded()) {
          cache.metrics().bypassed(Bypass.CROWDED);
          return null;
        }
      }
      Flight<H> fresh = new Flight<>(this, miss, true);
      Flight<H>.Seat seat = fresh.first();
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

  boolean shares() {
    return cache.settings().sharedFlights();
  }

  void ended(AnswerKey key, Flight<H> flight) {
    joinable.remove(key, flight);
  }

  /** Takes room to write an answer down; false when there is none. */
  boolean take(int bytes) {
    if (recorded.addAndGet(bytes) > cache.settings().recordingBytes()) {
      recorded.addAndGet(-bytes);
      return false;
    }
    cache.metrics().recording(bytes);
    return true;
  }

  void give(long bytes) {
    recorded.addAndGet(-bytes);
    cache.metrics().recording(-bytes);
  }
}
