package io.kvasir.answers;

import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The cache's figures, those of requests since the node's start.
 *
 * @param store {@code memory} or {@code redis}
 * @param outage since when the store does not answer, and why; empty while it does
 * @param entries answers in the store, empty when it does not know
 * @param bytes what they take, empty when it does not know
 * @param hits requests answered with a kept answer
 * @param misses requests that had to be answered by a worker
 * @param shared requests answered with the answer to an identical one in flight
 * @param bypassed requests the cache had nothing to do with, by reason
 * @param kept answers given to the store
 * @param waiting requests that are getting the answer to an identical one now
 * @param recordingBytes of answers in flight that are recorded
 */
public record AnswerCacheStats(
    String store,
    Optional<String> outage,
    OptionalLong entries,
    OptionalLong bytes,
    long hits,
    long misses,
    long shared,
    Map<String, Long> bypassed,
    long kept,
    long waiting,
    long recordingBytes) {}
