package io.kvasir.semantic;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.semantic.EmbeddingException.Why;
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
  private final SemanticSettings.Embeddings settings;
  private final SemanticMetrics metrics;
  private final LongSupplier nanos;
  private final EndpointHealth health;
  private final AtomicInteger underWay = new AtomicInteger();
  private final Cache<TextHash, float[]> recent;
  private final Map<TextHash, CompletableFuture<float[]>> flights = new ConcurrentHashMap<>();

  Embedder(
      EmbeddingEndpoint endpoint,
      SemanticSettings.Embeddings settings,
      SemanticMetrics metrics,
      LongSupplier nanos) {
    this.endpoint = endpoint;
    this.settings = settings;
    this.metrics = metrics;
    this.nanos = nanos;
    this.health = new EndpointHealth(settings.retry(), nanos);
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
  Optional<String> away() {
    return health.away().map(why -> settings.url() + " is away: " + why);
  }

  /** Vectors of length 1, or an {@link EmbeddingException}; for texts that no request waits for. */
  CompletableFuture<List<float[]>> together(List<String> texts) {
    return endpoint.embed(texts.stream().map(this::cut).toList());
  }

  /** The text's vector of length 1, or an {@link EmbeddingException}. What becomes of the future is the caller's. */
  CompletableFuture<float[]> of(String text) {
    String embedded = cut(text);
    TextHash hash = TextHash.of(embedded);
    float[] known = recent.getIfPresent(hash);
    if (known != null) {
      metrics.looked("memory");
      return CompletableFuture.completedFuture(known);
    }
    CompletableFuture<float[]> mine = new CompletableFuture<>();
    CompletableFuture<float[]> others = flights.putIfAbsent(hash, mine);
    if (others != null) {
      metrics.looked("flight");
      return others.copy();
    }
    metrics.looked("endpoint");
    CompletableFuture<float[]> own = mine.copy();
    var _ = call(embedded)
        .whenComplete((vector, failure) -> {
          if (vector != null) {
            recent.put(hash, vector);
          }
          flights.remove(hash);
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
    if (!health.mayAsk()) {
      return CompletableFuture.failedFuture(new EmbeddingException(Why.AWAY, health.away().orElse("it was away")));
    }
    if (underWay.incrementAndGet() > settings.concurrency()) {
      underWay.decrementAndGet();
      return CompletableFuture.failedFuture(
          new EmbeddingException(Why.BUSY, settings.concurrency() + " calls are under way"));
    }
    long started = nanos.getAsLong();
    CompletableFuture<float[]> call = endpoint.embed(List.of(text)).thenApply(List::getFirst);
    var _ = call.whenComplete(
        (_, _) -> {
          underWay.decrementAndGet();
          metrics.called(nanos.getAsLong() - started);
        });
    var _ = call.copy()
        .orTimeout(settings.budget().toNanos(), TimeUnit.NANOSECONDS)
        .whenComplete((_, failure) -> {
          if (failure == null) {
            health.answered();
          } else {
            health.missed(String.valueOf(EmbeddingException.of(failure).getMessage()));
          }
        });
    return call;
  }
}
