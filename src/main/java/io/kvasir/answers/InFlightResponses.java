package io.kvasir.answers;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * The responses in flight, by request: identical requests share one (single flight). Thread-safe.
 *
 * @param <H> what is known of an answer before its body
 */
public final class InFlightResponses<H> {
  private final AnswerCache cache;
  private final ConcurrentMap<SharedKey, SharedResponse<H>> joinable = new ConcurrentHashMap<>();
  private final RecordingBudget recording;

  /** What requests have in common that share a response. */
  private record SharedKey(AnswerKey request, String urgency) {}

  /** Responses whose answers go into a cache. */
  public InFlightResponses(AnswerCache cache) {
    this.cache = cache;
    this.recording = new RecordingBudget(cache.settings().recordingBytes(), cache.metrics());
  }

  /**
   * A subscription to the response to a request: to one in flight where they are shared, else to a new one, whose
   * {@link SharedResponse.Subscriber#isLeader leader} has to have it answered.
   *
   * @param urgency how urgent the request is: it waits for none that a worker may answer later than itself
   * @return null when too many subscribe already
   */
  public SharedResponse<H>.@Nullable Subscriber join(Lookup.Miss miss, String urgency) {
    SharedKey key = new SharedKey(miss.key(), urgency);
    if (!cache.settings().sharing().enabled() || miss.refresh()) {
      return response(miss, key, false).firstSubscriber();
    }
    while (true) {
      SharedResponse<H> existing = joinable.get(key);
      if (existing != null) {
        SharedResponse.JoinResult<H> join =
            existing.subscribe(miss.flushCount(), cache.settings().sharing().maxWaiters());
        if (join.subscriber() != null) {
          cache.metrics().sharing(true);
          return join.subscriber();
        }
        if (join.full()) {
          cache.metrics().bypassed(Bypass.CROWDED);
          return null;
        }
      }
      SharedResponse<H> fresh = response(miss, key, true);
      SharedResponse<H>.Subscriber subscriber = fresh.firstSubscriber();
      boolean added = existing == null
          ? joinable.putIfAbsent(key, fresh) == null
          : joinable.replace(key, existing, fresh);
      if (added) {
        return subscriber;
      }
    }
  }

  private SharedResponse<H> response(Lookup.Miss miss, SharedKey key, boolean canJoin) {
    return new SharedResponse<>(cache, recording, miss, canJoin, closed -> joinable.remove(key, closed));
  }
}
