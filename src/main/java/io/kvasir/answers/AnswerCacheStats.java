package io.kvasir.answers;

import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The cache's figures.
 *
 * @param store of the store, now
 * @param requests of requests, since the node's start
 * @param kept answers given to the store since the node's start
 * @param waiting requests that are getting the answer to an identical one now
 * @param recordingBytes of answers in flight that are recorded
 */
public record AnswerCacheStats(
    StoreStats store, RequestStats requests, long kept, long waiting, long recordingBytes) {
  /**
   * The figures of the store.
   *
   * @param name {@code memory} or {@code redis}
   * @param outage since when the store does not answer, and why; empty while it does
   * @param entries answers in the store, empty when it does not know
   * @param bytes what they take, empty when it does not know
   */
  public record StoreStats(String name, Optional<String> outage, OptionalLong entries, OptionalLong bytes) {}

  /**
   * Requests, by what the cache did for them.
   *
   * @param hits answered with a kept answer
   * @param misses answered by a worker
   * @param shared answered with the answer to an identical one in flight
   * @param bypassed those the cache had nothing to do with, by reason
   */
  public record RequestStats(long hits, long misses, long shared, Map<String, Long> bypassed) {}
}
