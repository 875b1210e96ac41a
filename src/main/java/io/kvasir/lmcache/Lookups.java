package io.kvasir.lmcache;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.http.CircuitBreaker;
import io.kvasir.http.HttpCallException;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.lmcache.LmCacheMetrics.LookupOutcome;
import io.kvasir.lmcache.LookupSource.Location;
import io.kvasir.lmcache.LookupSource.Prompt;
import io.kvasir.routing.CacheMatches;
import io.kvasir.routing.CacheMatches.Match;
import io.kvasir.routing.RequestFacts;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slots;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * Lookups at the controller, or the coordinator, of where prompts are held.
 *
 * <p>Both know whole chunks only, so prompts that are equal up to their last whole chunk share a lookup in
 * progress, and its result for a moment after: those of one model and salt where the source keeps these apart. Prompts
 * are read up to the first chunk that no instance holds, so every prompt with the same chunks up to that one has the
 * same result, whatever follows: a burst of new prompts under one system prompt causes about one lookup.
 *
 * <p>After failures the circuit opens: one request in a while tries it, the others do without.
 * Thread-safe; nothing blocks.
 */
final class Lookups {
  private static final int MAX_REMEMBERED = 20_000;
  private static final CircuitBreaker.Settings BREAKER = CircuitBreaker.Settings.of(3, Duration.ofSeconds(1));
  private static final CacheMatches NO_MATCHES = new CacheMatches(List.of());

  private final LookupSource source;
  private final WorkerMap map;
  private final int chunkTokens;
  private final boolean peers;
  private final Executor executor;
  private final NanoClock clock;
  private final LmCacheMetrics metrics;
  private final Semaphore permits;
  private final Cache<ChunkedPrompt.Key, CacheMatches> results;
  private final Map<ChunkedPrompt.Key, CompletableFuture<CacheMatches>> inFlight = new ConcurrentHashMap<>();
  private final CircuitBreaker breaker;

  /**
   * Lookups at a source.
   *
   * @param executor for tokenising
   */
  Lookups(
      LookupSource source,
      LmCacheSettings settings,
      WorkerMap map,
      Executor executor,
      NanoClock clock,
      LmCacheMetrics metrics) {
    this.source = source;
    this.map = map;
    this.chunkTokens = settings.lookups().chunkTokens();
    this.peers = settings.lookups().peers();
    this.executor = executor;
    this.clock = clock;
    this.metrics = metrics;
    this.breaker = new CircuitBreaker(BREAKER, clock);
    this.permits = new Semaphore(settings.lookups().maxConcurrent());
    this.results =
        Caffeine.newBuilder()
            .maximumSize(MAX_REMEMBERED)
            .expireAfterWrite(settings.lookups().remember())
            .ticker(clock::nanos)
            .build();
  }

  /** The prefixes of the request's prompt that LMCache holds. The caller may cancel the future. */
  CompletableFuture<CacheMatches> find(RoutingContext context) {
    ChunkedPrompt chunks = chunks(context);
    if (chunks.count() == 0) {
      return completed(
          chunks.chain().length() == 0 ? CacheMatches.UNKNOWN : NO_MATCHES, LookupOutcome.NOTHING_TO_ASK);
    }
    CacheMatches remembered = remembered(chunks);
    if (remembered != null) {
      return completed(remembered, LookupOutcome.REMEMBERED);
    }
    ChunkedPrompt.Key key = chunks.whole();
    CompletableFuture<CacheMatches> other = inFlight.get(key);
    if (other != null) {
      metrics.recordLookup(LookupOutcome.SHARED);
      return other.copy();
    }
    if (!breaker.tryAcquire()) {
      return completed(CacheMatches.UNKNOWN, LookupOutcome.LEFT_ALONE);
    }
    if (!permits.tryAcquire()) {
      return completed(CacheMatches.UNKNOWN, LookupOutcome.CROWDED);
    }
    CompletableFuture<CacheMatches> result = new CompletableFuture<>();
    CompletableFuture<CacheMatches> first = inFlight.putIfAbsent(key, result);
    if (first != null) {
      permits.release();
      metrics.recordLookup(LookupOutcome.SHARED);
      return first.copy();
    }
    lookup(context, chunks, result);
    return result.copy();
  }

  private ChunkedPrompt chunks(RoutingContext context) {
    Chain chain = context.get(Slots.CHAIN);
    return source.separatesModels()
        ? new ChunkedPrompt(context.model(), salt(context), chain, chunkTokens)
        : new ChunkedPrompt("", "", chain, chunkTokens);
  }

  private static String salt(RoutingContext context) {
    String salt = context.facts().field("cache_salt");
    return salt == null ? "" : salt;
  }

  /** What lookups showed to be wrong with the configuration; empty when that is nothing. */
  Optional<Problem> fault() {
    return source.fault();
  }

  private CompletableFuture<CacheMatches> completed(CacheMatches matches, LookupOutcome outcome) {
    metrics.recordLookup(outcome);
    return CompletableFuture.completedFuture(matches);
  }

  private @Nullable CacheMatches remembered(ChunkedPrompt chunks) {
    CacheMatches matches = results.getIfPresent(chunks.whole());
    for (int i = chunks.count() - 1; i > 0 && matches == null; i--) {
      matches = results.getIfPresent(chunks.firstMissing(i));
    }
    return matches;
  }

  private void lookup(RoutingContext context, ChunkedPrompt chunks, CompletableFuture<CacheMatches> result) {
    long started = clock.nanos();
    String model = context.model();
    String salt = salt(context);
    var _ = tokenize(context.facts())
        .thenCompose(tokens ->
            tokens == null ? noTokens() : source.lookup(new Prompt(model, tokens, salt)))
        .whenComplete((locations, failure) -> {
          permits.release();
          inFlight.remove(chunks.whole());
          if (locations != null) {
            CacheMatches matches = matches(locations);
            remember(chunks, locations, matches);
            breaker.onSuccess();
            metrics.recordLookup(LookupOutcome.ANSWERED, clock.nanos() - started);
            result.complete(matches);
          } else {
            onFailure(failure);
            result.complete(CacheMatches.UNKNOWN);
          }
        });
  }

  /** Tokenising that is rejected at once, since this is closed, is one that fails. */
  private CompletableFuture<int @Nullable []> tokenize(RequestFacts facts) {
    try {
      return CompletableFuture.supplyAsync(() -> tokens(facts), executor);
    } catch (RejectedExecutionException closed) {
      return CompletableFuture.failedFuture(closed);
    }
  }

  /** The prompt's tokens; null as well when the model's template rejects the request, as its engine will. */
  private static int @Nullable [] tokens(RequestFacts facts) {
    try {
      return facts.tokens();
    } catch (RuntimeException unreadable) {
      return null;
    }
  }

  /** No result: a request without known tokens counts neither for nor against the source. */
  private static CompletableFuture<List<Location>> noTokens() {
    return CompletableFuture.failedFuture(new NoTokensException());
  }

  private void onFailure(Throwable failure) {
    Throwable cause =
        failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    if (cause instanceof NoTokensException) {
      metrics.recordLookup(LookupOutcome.NO_TOKENS);
      return;
    }
    breaker.onFailure(String.valueOf(cause.getMessage()));
    metrics.recordLookup(
        cause instanceof HttpCallException call && call.kind() == HttpCallException.Kind.TIMEOUT
            ? LookupOutcome.LATE
            : LookupOutcome.FAILED);
  }

  private void remember(ChunkedPrompt chunks, List<Location> locations, CacheMatches matches) {
    results.put(chunks.whole(), matches);
    int end = locations.stream().mapToInt(Location::end).max().orElse(0);
    int missing = end / chunkTokens + 1;
    if (missing <= chunks.count()) {
      results.put(chunks.firstMissing(missing), matches);
    }
  }

  private CacheMatches matches(List<Location> locations) {
    Map<String, Match> matches = new HashMap<>();
    for (Location location : locations) {
      boolean remote = location.tier() == Tier.REMOTE;
      String worker = remote ? CacheMatches.ANY_WORKER : map.workerOf(location.instance());
      add(matches, new Match(worker, location.end(), location.tier()));
      if (peers && location.tier() == Tier.HOST) {
        add(matches, new Match(CacheMatches.ANY_WORKER, location.end(), Tier.REMOTE));
      }
    }
    return new CacheMatches(List.copyOf(matches.values()));
  }

  private static void add(Map<String, Match> matches, Match match) {
    matches.merge(match.worker(), match, (one, other) -> one.tokens() >= other.tokens() ? one : other);
  }

  /** The request's tokens are not known. */
  private static final class NoTokensException extends Exception {
    private static final long serialVersionUID = 1;

    NoTokensException() {
      super("the prompt's tokens are not known", null, false, false);
    }
  }
}
