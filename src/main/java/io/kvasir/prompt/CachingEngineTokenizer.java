package io.kvasir.prompt;

import com.dynatrace.hash4j.hashing.HashValue128;
import com.dynatrace.hash4j.hashing.Hasher128;
import com.dynatrace.hash4j.hashing.Hashing;
import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.http.CircuitBreaker;
import io.kvasir.prompt.PrefixMemo.Tokens;
import io.kvasir.prompt.chat.EngineGroup;
import io.kvasir.prompt.chat.EngineVersion;
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
 * nothing; it is remembered for a minute. Only {@value #ALL_REFUSED} of them without another answer say something of
 * the engine. Token ids themselves are kept of the latest prompts alone, for the second look at one. Thread-safe.
 */
final class CachingEngineTokenizer {
  private static final long MAX_BYTES = 64L << 20;
  private static final long MAX_ID_BYTES = 16L << 20;

  /** So many refusals in a row: any client can cause some, and an engine without such an API causes all. */
  static final int ALL_REFUSED = 16;

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
    static final Answer FAILED = new Answer(null, PromptReason.ENGINE_FAILED);

    static Answer of(Tokens tokens) {
      return new Answer(tokens, PromptReason.AS_CONFIGURED);
    }
  }

  /** Token ids, or why there are none. */
  private record Reply(int @Nullable [] ids, PromptReason reason) {
    static final Reply REFUSED = new Reply(null, PromptReason.ENGINE_REFUSED);
    static final Reply FAILED = new Reply(null, PromptReason.ENGINE_FAILED);
  }

  private final EngineTokenizer engine;
  private final CircuitBreaker breaker;
  /** How often the circuit was opened: of all calls that began in one period, the first failure alone opens it. */
  private final AtomicInteger openings = new AtomicInteger();
  /** Refusals since another answer. */
  private final AtomicInteger refusals = new AtomicInteger();
  /** Why prompts cannot be tokenised by the engine, as far as its latest answer says; null when they can. */
  private volatile @Nullable String failure;
  private final Hasher128 hasher = Hashing.xxh3_128(RandomGenerator.of("SecureRandom").nextLong());
  private final Cache<HashValue128, Tokens> cache = Caffeine.newBuilder()
      .maximumWeight(MAX_BYTES)
      .weigher((HashValue128 key, Tokens tokens) -> 128 + Long.BYTES * tokens.chain().length())
      .build();
  private final Cache<HashValue128, int[]> latestIds = Caffeine.newBuilder()
      .maximumWeight(MAX_ID_BYTES)
      .weigher((HashValue128 key, int[] ids) -> 128 + Integer.BYTES * ids.length)
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
    HashValue128 prompt = key(body, version);
    HashValue128 key =
        hasher.hashStream()
            .putString(namespace.id())
            .putLong(prompt.getMostSignificantBits())
            .putLong(prompt.getLeastSignificantBits())
            .get();
    Tokens cached = cache.getIfPresent(key);
    if (cached != null) {
      return Answer.of(new Tokens(cached.chain(), cached.tokens(), cached.tokens()));
    }
    Reply reply = reply(prompt, body, version, beforeWaiting);
    int[] ids = reply.ids();
    if (ids == null) {
      return new Answer(null, reply.reason());
    }
    Tokens tokens = PrefixMemo.ofIds(namespace, ids);
    cache.put(key, tokens);
    return Answer.of(tokens);
  }

  /** The token ids of the prompt in a request body, null when there are none; as {@link #answer}. Not to be changed. */
  int @Nullable [] ids(String body, EngineVersion version, Runnable beforeWaiting) {
    return reply(key(body, version), body, version, beforeWaiting).ids();
  }

  private HashValue128 key(String body, EngineVersion version) {
    return hasher.hashStream().putString(EngineGroup.of(version).name()).putString(body).get();
  }

  private Reply reply(HashValue128 prompt, String body, EngineVersion version, Runnable beforeWaiting) {
    int[] latest = latestIds.getIfPresent(prompt);
    if (latest != null) {
      return new Reply(latest, PromptReason.AS_CONFIGURED);
    }
    if (refused.getIfPresent(prompt) != null) {
      return Reply.REFUSED;
    }
    int begunAfter = openings.get();
    if (!breaker.tryAcquire()) {
      return Reply.FAILED;
    }
    beforeWaiting.run();
    try {
      int[] ids = tokenize(body, version);
      latestIds.put(prompt, ids);
      return new Reply(ids, PromptReason.AS_CONFIGURED);
    } catch (EngineTokenizer.RefusedException _) {
      refused.put(prompt, true);
      return Reply.REFUSED;
    } catch (IOException | RuntimeException failed) {
      if (openings.compareAndSet(begunAfter, begunAfter + 1)) {
        String why = String.valueOf(failed.getMessage());
        breaker.onFailure(why);
        failure = "it does not answer: " + why;
      }
      return Reply.FAILED;
    }
  }

  /** Why prompts are not tokenised by the engine, as its latest answers or failure show; null when they are. */
  @Nullable String failure() {
    return failure;
  }

  /**
   * The token ids of the prompt in a request body, from an engine of a version and not from the cache, whether the
   * circuit is open or not.
   */
  int[] tokenize(String body, EngineVersion version) throws IOException {
    try {
      int[] ids = engine.tokenize(body, version);
      refusals.set(0);
      answered(null);
      return ids;
    } catch (EngineTokenizer.RefusedException e) {
      answered(
          refusals.incrementAndGet() < ALL_REFUSED ? null
              : "it refused the latest " + ALL_REFUSED + " and more, this time because " + e.getMessage());
      throw e;
    }
  }

  private void answered(@Nullable String problem) {
    breaker.onSuccess();
    if (failure != null || problem != null) {
      failure = problem;
    }
  }
}
