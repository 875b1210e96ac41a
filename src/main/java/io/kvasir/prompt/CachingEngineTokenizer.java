package io.kvasir.prompt;

import com.dynatrace.hash4j.hashing.HashValue128;
import com.dynatrace.hash4j.hashing.Hasher128;
import com.dynatrace.hash4j.hashing.Hashing;
import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.http.CircuitBreaker;
import io.kvasir.prompt.PrefixMemo.Tokens;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.time.Duration;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A cache in front of an engine's {@code /tokenize}: a prompt's tokens by the whole request body. A failure opens a
 * circuit, for twice as long after each further one, so that an engine that does not answer costs its deadline once and
 * not with every request. Thread-safe.
 */
final class CachingEngineTokenizer {
  private static final long MAX_BYTES = 64L << 20;
  private static final CircuitBreaker.Settings BREAKER =
      new CircuitBreaker.Settings(1, Duration.ofMillis(250), Duration.ofSeconds(32), 1);

  private final EngineTokenizer engine;
  private final CircuitBreaker breaker;
  private final Hasher128 hasher = Hashing.xxh3_128(RandomGenerator.of("SecureRandom").nextLong());
  private final Cache<HashValue128, Tokens> cache = Caffeine.newBuilder()
      .maximumWeight(MAX_BYTES)
      .weigher((HashValue128 key, Tokens tokens) -> 128 + Long.BYTES * tokens.chain().length())
      .build();

  CachingEngineTokenizer(EngineTokenizer engine, NanoClock clock) {
    this.engine = engine;
    this.breaker = new CircuitBreaker(BREAKER, clock);
  }

  /** The tokens of the prompt in a request body, null when the engine fails or its circuit is open. */
  @Nullable Tokens tokens(BlockNamespace namespace, String body) {
    HashValue128 key = hasher.hashStream().putString(namespace.id()).putString(body).get();
    Tokens cached = cache.getIfPresent(key);
    if (cached != null) {
      return new Tokens(cached.chain(), cached.tokens(), cached.tokens());
    }
    if (!breaker.tryAcquire()) {
      return null;
    }
    try {
      Tokens tokens = PrefixMemo.ofIds(namespace, engine.tokenize(body));
      breaker.onSuccess();
      cache.put(key, tokens);
      return tokens;
    } catch (IOException | RuntimeException failed) {
      breaker.onFailure(String.valueOf(failed.getMessage()));
      return null;
    }
  }

  /** The token ids of the prompt in a request body, from the engine and not from the cache. */
  int[] tokenize(String body) throws IOException {
    return engine.tokenize(body);
  }
}
