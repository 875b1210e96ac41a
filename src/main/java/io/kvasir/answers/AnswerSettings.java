package io.kvasir.answers;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How answers are kept.
 *
 * @param store where
 * @param ttl for how long
 * @param maxEntry longest answer that is kept, in bytes
 * @param sampledProfiles profiles whose requests are answered from the cache though they ask for neither temperature 0
 *     nor a seed; {@code *} is every profile
 * @param sideEffectTools names of tools whose calls change something, {@code *} standing for any characters: requests
 *     that offer one are never answered from the cache
 * @param keyHeaders headers that are part of a request's key
 * @param ignoredFields members of the body, at its top, that do not
 * @param shareInFlight whether identical requests that come while one is on its way wait for its answer
 * @param maxWaiters how many may wait for one answer
 * @param recordingBytes what answers on their way may take together while they are written down to be kept; beyond it
 *     answers pass without being kept
 */
public record AnswerSettings(
    StoreSettings store,
    Duration ttl,
    int maxEntry,
    Set<String> sampledProfiles,
    List<String> sideEffectTools,
    List<String> keyHeaders,
    Set<String> ignoredFields,
    boolean shareInFlight,
    int maxWaiters,
    long recordingBytes) {
  /** Copies what it is given. */
  public AnswerSettings {
    sampledProfiles = Set.copyOf(sampledProfiles);
    sideEffectTools = List.copyOf(sideEffectTools);
    keyHeaders = List.copyOf(keyHeaders);
    ignoredFields = Set.copyOf(ignoredFields);
  }

  /** Where answers are kept. */
  public sealed interface StoreSettings {
    /**
     * This process's memory.
     *
     * @param bytes all entries together, requests included
     */
    record Memory(long bytes) implements StoreSettings {}

    /**
     * One Redis or Valkey server, shared by the nodes that name it.
     *
     * @param url {@code redis://[user[:password]@]host[:port][/database]}, {@code rediss} for TLS
     * @param password in place of one in the url; null without
     * @param authorities file of PEM certificates that the server's has to descend from; null for those Java trusts
     * @param prefix of every key
     * @param connectTimeout until a connection is there
     * @param timeout until an answer is there, and until a connection of the pool is free
     * @param connections most connections at a time
     * @param retry pause between attempts to reach a server that does not answer
     */
    record Redis(
        URI url,
        @Nullable String password,
        @Nullable Path authorities,
        String prefix,
        Duration connectTimeout,
        Duration timeout,
        int connections,
        Duration retry)
        implements StoreSettings {}
  }
}
