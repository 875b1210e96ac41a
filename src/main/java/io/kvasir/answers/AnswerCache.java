package io.kvasir.answers;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.http.ApiPath;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import java.io.IOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The response cache over one store, which it owns. Thread-safe; looking up and keeping may block for a moment. */
public final class AnswerCache implements AutoCloseable {
  /** The APIs whose answers can be kept. */
  private static final Set<ApiPath> CACHEABLE = Set.of(
      ApiPath.CHAT, ApiPath.COMPLETIONS, ApiPath.RESPONSES, ApiPath.MESSAGES, ApiPath.EMBEDDINGS, ApiPath.RERANK);

  private final AnswerSettings settings;
  private final InstantSource clock;
  private final Eligibility eligibility;
  private final CanonicalRequest canonical;
  private final AnswerCheck check = new AnswerCheck();
  private final AnswerMetrics metrics;
  private final AnswerStore store;

  /**
   * A cache. A store on another machine need not be there yet.
   *
   * @throws IOException when a file the store needs cannot be read
   */
  public AnswerCache(AnswerSettings settings, InstantSource clock, Metrics metrics) throws IOException {
    this.settings = settings;
    this.clock = clock;
    this.eligibility = new Eligibility(settings.eligibility());
    this.canonical = new CanonicalRequest(settings.keys());
    this.metrics = new AnswerMetrics(metrics);
    this.store = switch (settings.store()) {
      case AnswerSettings.StoreSettings.Memory memory -> new MemoryStore(memory, settings.ttl(), this.metrics);
      case AnswerSettings.StoreSettings.Redis redis -> new RedisStore(redis, settings.ttl(), clock, this.metrics);
    };
    this.metrics.watch(store);
  }

  /** Whether bodies of this type can be kept. */
  public static boolean isCacheable(String contentType) {
    return AnswerCheck.supports(contentType);
  }

  /** Looks up the answer to a request. */
  public Lookup lookUp(AnswerRequest request) {
    Lookup lookup = find(request);
    switch (lookup) {
      case Lookup.Hit _ -> metrics.hit();
      case Lookup.Bypassed(Bypass why) -> metrics.bypassed(why);
      case Lookup.Miss miss -> {
        if (miss.refresh()) {
          metrics.bypassed(Bypass.NO_CACHE);
        }
      }
    }
    return lookup;
  }

  private Lookup find(AnswerRequest request) {
    ApiPath api = ApiPath.at(request.path());
    JsonNode body = request.body();
    if (api == null || body == null || !CACHEABLE.contains(api)) {
      return new Lookup.Bypassed(Bypass.API);
    }
    CacheControl control = CacheControl.of(request.header().apply("Cache-Control"));
    Bypass refused = control.noStore() ? Bypass.NO_STORE : eligibility.refusal(api, body, request.profile());
    if (refused != null) {
      return new Lookup.Bypassed(refused);
    }
    AnswerKey key = canonical.of(request, body);
    return switch (store.find(key)) {
      case AnswerStore.StoreResult.Unavailable _ -> new Lookup.Bypassed(Bypass.STORE_AWAY);
      case AnswerStore.StoreResult.Fetched(StoredAnswer answer, long mark) -> {
        Lookup.Hit hit = answer == null || control.noCache() ? null : young(answer, control.maxAgeSeconds());
        yield hit != null ? hit : new Lookup.Miss(api, key, mark, control.maxAgeSeconds(), control.noCache());
      }
    };
  }

  /** The answer that has been put since a request missed it, null when there is none. */
  Lookup.@Nullable Hit recheck(Lookup.Miss miss) {
    return store.find(miss.key()) instanceof AnswerStore.StoreResult.Fetched(StoredAnswer answer, long _)
        && answer != null
        ? young(answer, miss.maxAgeSeconds())
        : null;
  }

  private Lookup.@Nullable Hit young(StoredAnswer answer, long maxAgeSeconds) {
    Duration age = Duration.between(answer.storedAt(), clock.instant());
    // Nodes' clocks may differ a little.
    long seconds = Math.max(0, age.toSeconds());
    return age.compareTo(settings.ttl()) < 0 && seconds <= maxAgeSeconds ? new Lookup.Hit(answer, seconds) : null;
  }

  /** Whether a stream's last bytes show that nothing of the answer is missing but the end of the body. */
  boolean isComplete(byte[] tail) {
    return check.isComplete(tail);
  }

  /** Keeps the answer to a request that missed it, if it is one to keep. */
  void put(Lookup.Miss miss, String contentType, byte[] body) {
    Optional<String> fault = body.length > settings.maxEntry()
        ? Optional.of("too_long")
        : check.fault(miss.api(), contentType, body);
    if (fault.isPresent()) {
      metrics.notKept(fault.get());
      return;
    }
    if (store.put(miss.key(), new StoredAnswer(contentType, body, clock.instant()), miss.flushCount())) {
      metrics.kept();
    }
  }

  /**
   * Removes answers, those in flight included.
   *
   * @param tenant whose, by the name {@link AnswerRequest#tenant} has; null for everybody's
   * @param model which model's; null for every model's
   * @return how many had been kept, empty when the store does not know
   * @throws StoreUnavailableException when the store cannot be reached
   */
  public OptionalLong flush(@Nullable String tenant, @Nullable String model) throws StoreUnavailableException {
    return store.flush(tenant, model);
  }

  /** What it has done, and what it holds. */
  public AnswerCacheStats stats() {
    return metrics.stats(store);
  }

  /** What does not work at the moment. */
  public List<Problem> problems() {
    Stream<Problem> away = store.outage().stream()
        .map(outage -> Problem.warning(
            "the response cache is bypassed, its store is away: " + outage,
            "see that the store runs and that kvasir.answers.redis.url is right; it is used as soon as it answers"));
    Stream<Problem> unwritable = store.refusal().stream()
        .map(refusal -> Problem.warning(
            "the response cache keeps no new answers, its store refuses them: " + refusal,
            "see that the store may evict (maxmemory-policy allkeys-lru or allkeys-lfu), and that"
                + " kvasir.answers.redis.url is no replica's; every answer is tried again"));
    return Stream.concat(away, unwritable).toList();
  }

  AnswerSettings settings() {
    return settings;
  }

  AnswerMetrics metrics() {
    return metrics;
  }

  @Override
  public void close() {
    store.close();
  }
}
