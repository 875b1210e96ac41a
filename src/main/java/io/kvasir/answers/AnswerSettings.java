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
 * @param eligibility which requests are answered from the cache
 * @param keys which parts of a request are part of its key
 * @param sharing whether identical requests share an answer that is still to come
 * @param recordingBytes what answers on their way may take together while they are written down to be kept; beyond it
 *     answers pass without being kept
 */
public record AnswerSettings(
    StoreSettings store,
    Duration ttl,
    int maxEntry,
    EligibilitySettings eligibility,
    KeySettings keys,
    SharingSettings sharing,
    long recordingBytes) {
  /**
   * Which requests are answered from the cache.
   *
   * @param sampledProfiles profiles whose requests are, though they ask for neither temperature 0 nor a seed; {@code *}
   *     is every profile
   * @param sideEffectTools names of tools whose calls change something, {@code *} standing for any characters: requests
   *     that offer one never are
   */
  public record EligibilitySettings(Set<String> sampledProfiles, List<String> sideEffectTools) {
    /** Copies the collections. */
    public EligibilitySettings {
      sampledProfiles = Set.copyOf(sampledProfiles);
      sideEffectTools = List.copyOf(sideEffectTools);
    }
  }

  /**
   * The key of a request: what distinguishes it from others.
   *
   * @param headers headers that are part of the key
   * @param ignoredFields members of the body, at its top, that are not
   */
  public record KeySettings(List<String> headers, Set<String> ignoredFields) {
    /** Copies the collections. */
    public KeySettings {
      headers = List.copyOf(headers);
      ignoredFields = Set.copyOf(ignoredFields);
    }
  }

  /**
   * Sharing of answers in flight.
   *
   * @param enabled whether identical requests that come while one is on its way wait for its answer
   * @param maxWaiters how many may wait for one answer
   */
  public record SharingSettings(boolean enabled, int maxWaiters) {}

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
