package io.kvasir.lmcache;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.lmcache.Controller.Location;
import io.kvasir.lmcache.LmCacheMetrics.LookupOutcome;
import io.kvasir.routing.CacheMatches;
import io.kvasir.routing.CacheMatches.Match;
import io.kvasir.routing.RequestFacts;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slots;
import java.net.http.HttpTimeoutException;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Asks the controller where prompts are held.
 *
 * <p>It knows whole chunks only, so prompts that are the same up to their last whole chunk ask the same: they share a
 * lookup that is under way, and its answer for a moment after. The controller reads a prompt up to the first chunk
 * that nobody has, so every prompt that goes on through that chunk has the same answer, too, whatever follows: a burst
 * of new prompts under one system prompt asks about once.
 *
 * <p>A controller that fails is left alone for a while, and asked by one request after that; the others go without.
 * Thread-safe; nothing waits.
 */
final class Lookups {
  private static final int MOST_REMEMBERED = 20_000;
  private static final CacheMatches NOTHING = new CacheMatches(List.of());

  private final Controller controller;
  private final WorkerMap map;
  private final int chunkTokens;
  private final Executor executor;
  private final LongSupplier nanos;
  private final LmCacheMetrics metrics;
  private final Semaphore permits;
  private final Cache<Long, CacheMatches> answers;
  private final Map<Long, CompletableFuture<CacheMatches>> inFlight = new ConcurrentHashMap<>();
  private final LmCacheCircuitBreaker breaker;

  /**
   * Lookups by a controller.
   *
   * @param executor for tokenising
   */
  Lookups(
      Controller controller,
      LmCacheSettings settings,
      WorkerMap map,
      Executor executor,
      LongSupplier nanos,
      LmCacheMetrics metrics) {
    this.controller = controller;
    this.map = map;
    this.chunkTokens = settings.chunkTokens();
    this.executor = executor;
    this.nanos = nanos;
    this.metrics = metrics;
    this.breaker = new LmCacheCircuitBreaker(nanos);
    this.permits = new Semaphore(settings.maxLookups());
    this.answers =
        Caffeine.newBuilder()
            .maximumSize(MOST_REMEMBERED)
            .expireAfterWrite(settings.remember())
            .ticker(nanos::getAsLong)
            .build();
  }

  /** The prefixes of the request's prompt that LMCache holds. The caller may cancel the future. */
  CompletableFuture<CacheMatches> find(RoutingContext context) {
    ChunkedPrompt chunks = new ChunkedPrompt(context.get(Slots.CHAIN), chunkTokens);
    if (chunks.count() == 0) {
      return answered(chunks.chain().length() == 0 ? CacheMatches.UNKNOWN : NOTHING, LookupOutcome.NOTHING_TO_ASK);
    }
    CacheMatches known = known(chunks);
    if (known != null) {
      return answered(known, LookupOutcome.REMEMBERED);
    }
    long key = chunks.hash(chunks.count());
    CompletableFuture<CacheMatches> asked = inFlight.get(key);
    if (asked != null) {
      metrics.recordLookup(LookupOutcome.SHARED);
      return asked.copy();
    }
    if (!breaker.tryAcquire()) {
      return answered(CacheMatches.UNKNOWN, LookupOutcome.LEFT_ALONE);
    }
    if (!permits.tryAcquire()) {
      return answered(CacheMatches.UNKNOWN, LookupOutcome.CROWDED);
    }
    CompletableFuture<CacheMatches> mine = new CompletableFuture<>();
    CompletableFuture<CacheMatches> first = inFlight.putIfAbsent(key, mine);
    if (first != null) {
      permits.release();
      metrics.recordLookup(LookupOutcome.SHARED);
      return first.copy();
    }
    ask(context.facts(), chunks, key, mine);
    return mine.copy();
  }


  private CompletableFuture<CacheMatches> answered(CacheMatches matches, LookupOutcome answer) {
    metrics.recordLookup(answer);
    return CompletableFuture.completedFuture(matches);
  }

  private @Nullable CacheMatches known(ChunkedPrompt chunks) {
    for (int i = chunks.count(); i > 0; i--) {
      CacheMatches known = answers.getIfPresent(chunks.hash(i) + (i == chunks.count() ? 0 : ChunkedPrompt.THROUGH));
      if (known != null) {
        return known;
      }
    }
    return null;
  }

  private void ask(RequestFacts facts, ChunkedPrompt chunks, long key, CompletableFuture<CacheMatches> mine) {
    long began = nanos.getAsLong();
    var _ = CompletableFuture.supplyAsync(() -> tokens(facts), executor)
        .thenCompose(tokens -> tokens == null ? noTokens() : controller.lookup(tokens))
        .whenComplete((locations, failed) -> {
          permits.release();
          inFlight.remove(key);
          if (locations != null) {
            CacheMatches matches = matches(locations);
            remember(chunks, key, locations, matches);
            breaker.record(true);
            metrics.recordLookup(LookupOutcome.ANSWERED, nanos.getAsLong() - began);
            mine.complete(matches);
          } else {
            failed(failed);
            mine.complete(CacheMatches.UNKNOWN);
          }
        });
  }

  /** Null as well when the request's own template refuses it: its engine will say so. */
  private static int @Nullable [] tokens(RequestFacts facts) {
    try {
      return facts.tokens();
    } catch (RuntimeException unreadable) {
      return null;
    }
  }

  /** A request whose tokens cannot be told says nothing of the controller. */
  private static CompletableFuture<List<Location>> noTokens() {
    return CompletableFuture.failedFuture(new NoTokensException());
  }

  private void failed(@Nullable Throwable failure) {
    Throwable why = failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    if (why instanceof NoTokensException) {
      metrics.recordLookup(LookupOutcome.NO_TOKENS);
      return;
    }
    breaker.record(false);
    metrics.recordLookup(why instanceof HttpTimeoutException ? LookupOutcome.LATE : LookupOutcome.FAILED);
  }

  private void remember(ChunkedPrompt chunks, long key, List<Location> locations, CacheMatches matches) {
    answers.put(key, matches);
    int end = locations.stream().mapToInt(Location::end).max().orElse(0);
    int missed = end / chunkTokens + 1;
    if (missed <= chunks.count()) {
      answers.put(chunks.hash(missed) + ChunkedPrompt.THROUGH, matches);
    }
  }

  private CacheMatches matches(List<Location> locations) {
    Map<String, Match> matches = new HashMap<>();
    for (Location location : locations) {
      Tier tier = tier(location.backend());
      String worker = tier == Tier.REMOTE ? CacheMatches.ANY_WORKER : map.workerOf(location.instance());
      matches.merge(
          worker,
          new Match(worker, location.end(), tier),
          (one, other) -> one.tokens() >= other.tokens() ? one : other);
    }
    return new CacheMatches(List.copyOf(matches.values()));
  }

  /** LMCache's backends by their names; one that is neither memory nor a disk of the engine's host is far away. */
  private static Tier tier(String backend) {
    String name = backend.toLowerCase(Locale.ROOT);
    return name.contains("cpu") ? Tier.HOST
        : name.contains("disk") || name.contains("gds") ? Tier.DISK
        : Tier.REMOTE;
  }

  /**
   * A prompt's whole chunks.
   *
   * @param chain its blocks
   * @param chunkTokens tokens in a chunk
   */
  private record ChunkedPrompt(Chain chain, int chunkTokens) {
    /** Added to the hash of a chunk that an answer ended at: it is good for prompts that go on otherwise. */
    static final long THROUGH = 0x9E3779B97F4A7C15L;

    int count() {
      return (int) Math.min(Integer.MAX_VALUE, (long) chain.length() * chain.blockSize() / chunkTokens);
    }

    /** Of the first block that contains the end of the first {@code chunks} chunks, and of all before it. */
    long hash(int chunks) {
      int blocks = Math.ceilDiv(chunks * chunkTokens, chain.blockSize());
      return chain.hashes()[Math.min(blocks, chain.length()) - 1];
    }
  }

  /** The request's tokens are not known. */
  private static final class NoTokensException extends Exception {
    private static final long serialVersionUID = 1;

    NoTokensException() {
      super("the prompt's tokens are not known", null, false, false);
    }
  }
}
