package io.kvasir.prompt;

import com.dynatrace.hash4j.hashing.HashValue128;
import com.dynatrace.hash4j.hashing.Hasher128;
import com.dynatrace.hash4j.hashing.Hashing;
import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.http.CircuitBreaker;
import io.kvasir.prompt.PrefixMemo.Tokens;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.Preparation;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A cache in front of an engine's {@code /tokenize}: a prompt's tokens, or the engine's refusal, by the whole request
 * body. A failure opens a circuit, for twice as long after each pause in which it fails again, so that an engine that
 * does not answer costs its deadline once and not with every request. A refusal is an answer about one prompt and opens
 * nothing; it is remembered for a minute. Thread-safe.
 */
final class CachingEngineTokenizer {
  private static final long MAX_BYTES = 64L << 20;
  private static final long MAX_REFUSALS = 10_000;
  private static final Duration REFUSED_FOR = Duration.ofMinutes(1);
  private static final CircuitBreaker.Settings BREAKER =
      new CircuitBreaker.Settings(1, Duration.ofMillis(250), Duration.ofSeconds(32), 1);

  /**
   * The engine's answer about a prompt.
   *
   * @param tokens null when the engine refused the prompt, failed or is not asked
   * @param reason why there are none; {@link PromptReason#AS_CONFIGURED} when there are
   */
  record Answer(@Nullable Tokens tokens, PromptReason reason) {
    static final Answer REFUSED = new Answer(null, PromptReason.ENGINE_REFUSED);
    static final Answer FAILED = new Answer(null, PromptReason.ENGINE_FAILED);

    static Answer of(Tokens tokens) {
      return new Answer(tokens, PromptReason.AS_CONFIGURED);
    }
  }

  private final EngineTokenizer engine;
  private final CircuitBreaker breaker;
  /** How often the circuit was opened: of all calls that began in one period, the first failure alone opens it. */
  private final AtomicInteger openings = new AtomicInteger();
  /** Why the engine did not answer the latest call; null when it did. */
  private volatile @Nullable String failure;
  private final Hasher128 hasher = Hashing.xxh3_128(RandomGenerator.of("SecureRandom").nextLong());
  private final Cache<HashValue128, Tokens> cache = Caffeine.newBuilder()
      .maximumWeight(MAX_BYTES)
      .weigher((HashValue128 key, Tokens tokens) -> 128 + Long.BYTES * tokens.chain().length())
      .build();
  private final Cache<HashValue128, Boolean> refused;

  CachingEngineTokenizer(EngineTokenizer engine, NanoClock clock) {
    this.engine = engine;
    this.breaker = new CircuitBreaker(BREAKER, clock);
    this.refused =
        Caffeine.newBuilder().maximumSize(MAX_REFUSALS).expireAfterWrite(REFUSED_FOR).ticker(clock::nanos).build();
  }

  /** The engines' versions, see {@link EngineTokenizer#versions}. */
  List<EngineVersion> versions() {
    return engine.versions();
  }

  /**
   * The engine's answer about the prompt in a request body.
   *
   * @param version of the engine that is asked
   * @param beforeWaiting runs before the engine is called, if it is
   */
  Answer answer(BlockNamespace namespace, String body, EngineVersion version, Runnable beforeWaiting) {
    HashValue128 key =
        hasher.hashStream().putString(namespace.id()).putString(Preparation.of(version).name()).putString(body).get();
    Tokens cached = cache.getIfPresent(key);
    if (cached != null) {
      return Answer.of(new Tokens(cached.chain(), cached.tokens(), cached.tokens()));
    }
    if (refused.getIfPresent(key) != null) {
      return Answer.REFUSED;
    }
    int begunAfter = openings.get();
    if (!breaker.tryAcquire()) {
      return Answer.FAILED;
    }
    beforeWaiting.run();
    try {
      Tokens tokens = PrefixMemo.ofIds(namespace, engine.tokenize(body, version));
      answered();
      cache.put(key, tokens);
      return Answer.of(tokens);
    } catch (EngineTokenizer.RefusedException _) {
      answered();
      refused.put(key, true);
      return Answer.REFUSED;
    } catch (IOException | RuntimeException failed) {
      if (openings.compareAndSet(begunAfter, begunAfter + 1)) {
        String why = String.valueOf(failed.getMessage());
        breaker.onFailure(why);
        failure = why;
      }
      return Answer.FAILED;
    }
  }

  private void answered() {
    breaker.onSuccess();
    if (failure != null) {
      failure = null;
    }
  }

  /** Why the engine did not answer when it was last asked, and prompts are not tokenised by it; null when it did. */
  @Nullable String failure() {
    return failure;
  }

  /** The token ids of the prompt in a request body, from an engine of a version and not from the cache. */
  int[] tokenize(String body, EngineVersion version) throws IOException {
    return engine.tokenize(body, version);
  }
}
