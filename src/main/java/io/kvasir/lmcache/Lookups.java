package io.kvasir.lmcache;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.lmcache.Controller.Location;
import io.kvasir.lmcache.LmCacheMetrics.Answer;
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

  private final Controller controller;
  private final WorkerMap map;
  private final int chunkTokens;
  private final Executor executor;
  private final LongSupplier nanos;
  private final LmCacheMetrics metrics;
  private final Semaphore places;
  private final Cache<Long, String> remembered;
  private final Map<Long, CompletableFuture<String>> underWay = new ConcurrentHashMap<>();
  private final Forbearance forbearance;

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
    this.forbearance = new Forbearance(nanos);
    this.places = new Semaphore(settings.maxLookups());
    this.remembered =
        Caffeine.newBuilder()
            .maximumSize(MOST_REMEMBERED)
            .expireAfterWrite(settings.remember())
            .ticker(nanos::getAsLong)
            .build();
  }

  /** Where the request's prompt is held, as {@link CacheMatches} text. The caller may cancel what it gets. */
  CompletableFuture<String> find(RoutingContext context) {
    Chunks chunks = new Chunks(context.get(Slots.CHAIN), chunkTokens);
    if (chunks.count() == 0) {
      return answered(chunks.chain().length() == 0 ? CacheMatches.UNKNOWN : nothing(), Answer.NOTHING_TO_ASK);
    }
    String known = known(chunks);
    if (known != null) {
      return answered(known, Answer.REMEMBERED);
    }
    long key = chunks.hash(chunks.count());
    CompletableFuture<String> asked = underWay.get(key);
    if (asked != null) {
      metrics.looked(Answer.SHARED);
      return asked.copy();
    }
    if (!forbearance.mayAsk()) {
      return answered(CacheMatches.UNKNOWN, Answer.LEFT_ALONE);
    }
    if (!places.tryAcquire()) {
      return answered(CacheMatches.UNKNOWN, Answer.CROWDED);
    }
    CompletableFuture<String> mine = new CompletableFuture<>();
    CompletableFuture<String> first = underWay.putIfAbsent(key, mine);
    if (first != null) {
      places.release();
      metrics.looked(Answer.SHARED);
      return first.copy();
    }
    ask(context.facts(), chunks, key, mine);
    return mine.copy();
  }

  private static String nothing() {
    return new CacheMatches(List.of()).text();
  }

  private CompletableFuture<String> answered(String text, Answer answer) {
    metrics.looked(answer);
    return CompletableFuture.completedFuture(text);
  }

  private @Nullable String known(Chunks chunks) {
    for (int i = chunks.count(); i > 0; i--) {
      String known = remembered.getIfPresent(chunks.hash(i) + (i == chunks.count() ? 0 : Chunks.THROUGH));
      if (known != null) {
        return known;
      }
    }
    return null;
  }

  private void ask(RequestFacts facts, Chunks chunks, long key, CompletableFuture<String> mine) {
    long began = nanos.getAsLong();
    var _ = CompletableFuture.supplyAsync(() -> tokens(facts), executor)
        .thenCompose(tokens -> tokens == null ? noTokens() : controller.lookup(tokens))
        .whenComplete((locations, failed) -> {
          places.release();
          underWay.remove(key);
          if (locations != null) {
            String text = matches(locations).text();
            remember(chunks, key, locations, text);
            forbearance.went(true);
            metrics.looked(Answer.ANSWERED, nanos.getAsLong() - began);
            mine.complete(text);
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
      metrics.looked(Answer.NO_TOKENS);
      return;
    }
    forbearance.went(false);
    metrics.looked(why instanceof HttpTimeoutException ? Answer.LATE : Answer.FAILED);
  }

  private void remember(Chunks chunks, long key, List<Location> locations, String text) {
    remembered.put(key, text);
    int end = locations.stream().mapToInt(Location::end).max().orElse(0);
    int missed = end / chunkTokens + 1;
    if (missed <= chunks.count()) {
      remembered.put(chunks.hash(missed) + Chunks.THROUGH, text);
    }
  }

  private CacheMatches matches(List<Location> locations) {
    Map<String, Match> matches = new HashMap<>();
    for (Location location : locations) {
      Tier tier = tier(location.backend());
      String worker = tier == Tier.REMOTE ? CacheMatches.ANYBODY : map.workerOf(location.instance());
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
  private record Chunks(Chain chain, int chunkTokens) {
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
