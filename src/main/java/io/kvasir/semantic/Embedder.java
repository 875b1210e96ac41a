package io.kvasir.semantic;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.http.CircuitBreaker;
import io.kvasir.semantic.EmbeddingException.Reason;
import io.kvasir.time.NanoClock;
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

/**
 * Embeddings of requests' texts. Recent ones are cached by hashes of their texts, and requests for a text that is being
 * embedded share that call. Thread-safe; never blocks.
 */
final class Embedder {
  private static final int FAILURE_THRESHOLD = 3;

  private final EmbeddingEndpoint endpoint;
  private final SemanticSettings.EmbeddingSettings settings;
  private final SemanticMetrics metrics;
  private final NanoClock clock;
  private final CircuitBreaker breaker;
  private final AtomicInteger inFlightCalls = new AtomicInteger();
  private final Cache<TextHash, float[]> recent;
  private final Map<TextHash, CompletableFuture<float[]>> inFlight = new ConcurrentHashMap<>();

  Embedder(
      EmbeddingEndpoint endpoint,
      SemanticSettings.EmbeddingSettings settings,
      SemanticMetrics metrics,
      NanoClock clock) {
    this.endpoint = endpoint;
    this.settings = settings;
    this.metrics = metrics;
    this.clock = clock;
    this.breaker = new CircuitBreaker(CircuitBreaker.Settings.of(FAILURE_THRESHOLD, settings.calls().retry()), clock);
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

  /** Why the endpoint's circuit is open; empty while it is closed. */
  Optional<String> openReason() {
    return breaker.openReason().map(reason -> settings.endpoint().url() + " is unavailable: " + reason);
  }

  /** Vectors of length 1, or an {@link EmbeddingException}; without cache, for texts that no request waits for. */
  CompletableFuture<List<float[]>> embedAll(List<String> texts) {
    return send(texts.stream().map(this::truncated).toList());
  }

  /** The text's vector of length 1, or an {@link EmbeddingException}. The caller may complete or cancel the future. */
  CompletableFuture<float[]> embed(String text) {
    String truncated = truncated(text);
    TextHash hash = TextHash.of(truncated);
    float[] cached = recent.getIfPresent(hash);
    if (cached != null) {
      metrics.recordLookup("memory");
      return CompletableFuture.completedFuture(cached);
    }
    CompletableFuture<float[]> shared = new CompletableFuture<>();
    CompletableFuture<float[]> other = inFlight.putIfAbsent(hash, shared);
    if (other != null) {
      metrics.recordLookup("flight");
      return other.copy();
    }
    metrics.recordLookup("endpoint");
    CompletableFuture<float[]> result = shared.copy();
    var _ = call(truncated)
        .whenComplete((vector, failure) -> {
          if (vector != null) {
            recent.put(hash, vector);
          }
          inFlight.remove(hash);
          if (vector != null) {
            shared.complete(vector);
          } else {
            shared.completeExceptionally(EmbeddingException.of(failure));
          }
        });
    return result;
  }

  private String truncated(String text) {
    return text.length() <= settings.maxTextLength() ? text : text.substring(0, settings.maxTextLength());
  }

  /** A call that is rejected at once, such as by a client that is closed, is one that fails. */
  private CompletableFuture<List<float[]>> send(List<String> texts) {
    try {
      return endpoint.embed(texts);
    } catch (RuntimeException rejected) {
      return CompletableFuture.failedFuture(rejected);
    }
  }

  private CompletableFuture<float[]> call(String text) {
    if (!breaker.tryAcquire()) {
      return CompletableFuture.failedFuture(
          new EmbeddingException(Reason.CIRCUIT_OPEN, breaker.openReason().orElse("the circuit was open")));
    }
    if (inFlightCalls.incrementAndGet() > settings.calls().concurrency()) {
      inFlightCalls.decrementAndGet();
      return CompletableFuture.failedFuture(
          new EmbeddingException(Reason.BUSY, settings.calls().concurrency() + " calls are in progress"));
    }
    long started = clock.nanos();
    CompletableFuture<float[]> call = send(List.of(text)).thenApply(List::getFirst);
    var _ = call.whenComplete(
        (_, _) -> {
          inFlightCalls.decrementAndGet();
          metrics.recordCall(clock.nanos() - started);
        });
    var _ = call.copy()
        .orTimeout(settings.budget().toNanos(), TimeUnit.NANOSECONDS)
        .whenComplete((_, failure) -> {
          if (failure == null) {
            breaker.onSuccess();
          } else {
            breaker.onFailure(String.valueOf(EmbeddingException.of(failure).getMessage()));
          }
        });
    return call;
  }
}
