package io.kvasir.semantic;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.semantic.EmbeddingException.Reason;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;

/**
 * Embeds what requests say. The last embeddings are remembered by hashes of their texts, and who asks for one that is
 * on its way waits for that. Thread-safe; never waits itself.
 */
final class Embedder {
  private final EmbeddingEndpoint endpoint;
  private final SemanticSettings.EmbeddingSettings settings;
  private final SemanticMetrics metrics;
  private final LongSupplier nanos;
  private final EmbeddingCircuitBreaker breaker;
  private final AtomicInteger inFlightCalls = new AtomicInteger();
  private final Cache<TextHash, float[]> recent;
  private final Map<TextHash, CompletableFuture<float[]>> inFlight = new ConcurrentHashMap<>();

  Embedder(
      EmbeddingEndpoint endpoint,
      SemanticSettings.EmbeddingSettings settings,
      SemanticMetrics metrics,
      LongSupplier nanos) {
    this.endpoint = endpoint;
    this.settings = settings;
    this.metrics = metrics;
    this.nanos = nanos;
    this.breaker = new EmbeddingCircuitBreaker(settings.retry(), nanos);
    this.recent = Caffeine.newBuilder().maximumSize(settings.memory()).executor(Runnable::run).build();
  }

  /** The first half of a text's SHA-256: texts are not kept. */
  private record TextHash(long high, long low) {
    static TextHash of(String text) {
      try {
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
        ByteBuffer bytes = ByteBuffer.wrap(digest);
        return new TextHash(bytes.getLong(), bytes.getLong());
      } catch (NoSuchAlgorithmException impossible) {
        throw new AssertionError("every Java has SHA-256", impossible);
      }
    }
  }

  /** Why the endpoint is not asked at the moment; empty while it is. */
  Optional<String> openReason() {
    return breaker.openReason().map(why -> settings.url() + " is away: " + why);
  }

  /** Vectors of length 1, or an {@link EmbeddingException}; for texts that no request waits for. */
  CompletableFuture<List<float[]>> embedAll(List<String> texts) {
    return endpoint.embed(texts.stream().map(this::cut).toList());
  }

  /** The text's vector of length 1, or an {@link EmbeddingException}. What becomes of the future is the caller's. */
  CompletableFuture<float[]> embed(String text) {
    String embedded = cut(text);
    TextHash hash = TextHash.of(embedded);
    float[] known = recent.getIfPresent(hash);
    if (known != null) {
      metrics.recordLookup("memory");
      return CompletableFuture.completedFuture(known);
    }
    CompletableFuture<float[]> mine = new CompletableFuture<>();
    CompletableFuture<float[]> others = inFlight.putIfAbsent(hash, mine);
    if (others != null) {
      metrics.recordLookup("flight");
      return others.copy();
    }
    metrics.recordLookup("endpoint");
    CompletableFuture<float[]> own = mine.copy();
    var _ = call(embedded)
        .whenComplete((vector, failure) -> {
          if (vector != null) {
            recent.put(hash, vector);
          }
          inFlight.remove(hash);
          if (vector != null) {
            mine.complete(vector);
          } else {
            mine.completeExceptionally(EmbeddingException.of(failure));
          }
        });
    return own;
  }

  private String cut(String text) {
    return text.length() <= settings.longestText() ? text : text.substring(0, settings.longestText());
  }

  private CompletableFuture<float[]> call(String text) {
    if (!breaker.tryAcquire()) {
      return CompletableFuture.failedFuture(
          new EmbeddingException(Reason.AWAY, breaker.openReason().orElse("it was away")));
    }
    if (inFlightCalls.incrementAndGet() > settings.concurrency()) {
      inFlightCalls.decrementAndGet();
      return CompletableFuture.failedFuture(
          new EmbeddingException(Reason.BUSY, settings.concurrency() + " calls are under way"));
    }
    long started = nanos.getAsLong();
    CompletableFuture<float[]> call = endpoint.embed(List.of(text)).thenApply(List::getFirst);
    var _ = call.whenComplete(
        (_, _) -> {
          inFlightCalls.decrementAndGet();
          metrics.recordCall(nanos.getAsLong() - started);
        });
    var _ = call.copy()
        .orTimeout(settings.budget().toNanos(), TimeUnit.NANOSECONDS)
        .whenComplete((_, failure) -> {
          if (failure == null) {
            breaker.recordSuccess();
          } else {
            breaker.recordFailure(String.valueOf(EmbeddingException.of(failure).getMessage()));
          }
        });
    return call;
  }
}
