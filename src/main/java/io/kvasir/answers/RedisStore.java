package io.kvasir.answers;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvasir.http.CircuitBreaker;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.resps.ScanResult;
import redis.clients.jedis.util.JedisURIHelper;

/**
 * Answers in one Redis or Valkey server. The first failure opens its circuit, so that no request waits for a server
 * that does not answer; a background thread tries the server and closes the circuit when it has answered.
 *
 * <p>An entry stands at {@code PREFIX:TENANT:MODEL:REQUEST}, the latter three hashed, with the whole digest of the
 * request beside the answer; it expires by itself. {@code PREFIX:flushes} counts flushes: it is read with every entry
 * and compared when one is kept, in one step, so that no node brings back what another has flushed.
 */
final class RedisStore implements AnswerStore {
  private static final Logger LOG = LoggerFactory.getLogger(RedisStore.class);

  private static final int SCANNED = 1000;
  private static final String KEEP = """
      if (redis.call('GET', KEYS[2]) or '0') == ARGV[1] then
        redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
        return 1
      end
      return 0""";

  private final AnswerSettings.StoreSettings.Redis settings;
  private final Duration ttl;
  private final InstantSource clock;
  private final AnswerMetrics metrics;
  private final RedisClient client;
  private final byte[] flushes;
  private final CircuitBreaker breaker;
  /** Since when and why the server answers but keeps nothing; null while it does, as far as is known. */
  private final AtomicReference<@Nullable String> refusal = new AtomicReference<>();

  private volatile boolean closed;

  /**
   * A store that need not be there yet.
   *
   * @throws IOException when the file of certificates cannot be read
   */
  RedisStore(
      AnswerSettings.StoreSettings.Redis settings, Duration ttl, InstantSource clock, AnswerMetrics metrics)
      throws IOException {
    this.settings = settings;
    this.ttl = ttl;
    this.clock = clock;
    this.metrics = metrics;
    // Requests never try an open circuit: the background thread does, and closes it.
    this.breaker = new CircuitBreaker(CircuitBreaker.Settings.of(1, settings.retry()), NanoClock.SYSTEM);
    this.flushes = bytes(settings.prefix() + ":flushes");
    this.client =
        RedisClient.builder()
            .hostAndPort(new HostAndPort(settings.url().getHost(), port(settings.url())))
            .clientConfig(client(settings))
            .poolConfig(pool(settings))
            .build();
  }

  private static int port(URI url) {
    return url.getPort() < 0 ? 6379 : url.getPort();
  }

  private static DefaultJedisClientConfig client(AnswerSettings.StoreSettings.Redis settings) throws IOException {
    DefaultJedisClientConfig.Builder client =
        DefaultJedisClientConfig.builder()
            .resp2()
            .clientName("kvasir-answers")
            .user(JedisURIHelper.getUser(settings.url()))
            .password(settings.password() != null ? settings.password() : JedisURIHelper.getPassword(settings.url()))
            .database(JedisURIHelper.getDBIndex(settings.url()))
            .connectionTimeoutMillis((int) settings.connectTimeout().toMillis())
            .socketTimeoutMillis((int) settings.timeout().toMillis());
    if ("rediss".equals(settings.url().getScheme())) {
      client.sslOptions(StoreTls.options(settings.authorities()));
    }
    return client.build();
  }

  private static ConnectionPoolConfig pool(AnswerSettings.StoreSettings.Redis settings) {
    ConnectionPoolConfig pool = new ConnectionPoolConfig();
    pool.setMaxTotal(settings.connections());
    pool.setMaxIdle(settings.connections());
    pool.setMaxWait(settings.timeout());
    pool.setJmxEnabled(false);
    return pool;
  }

  @Override
  public StoreResult find(AnswerKey key) {
    if (!breaker.isClosed()) {
      return new StoreResult.Unavailable();
    }
    try {
      List<byte[]> values = again(() -> client.mget(at(key), flushes));
      byte[] entry = value(values, 0);
      return new StoreResult.Fetched(entry == null ? null : StoredAnswer.decoded(entry, key), mark(value(values, 1)));
    } catch (RuntimeException failed) {
      failed("find", failed);
      return new StoreResult.Unavailable();
    }
  }

  @Override
  public boolean put(AnswerKey key, StoredAnswer answer, long mark) {
    if (!breaker.isClosed()) {
      return false;
    }
    List<byte[]> keys = List.of(at(key), flushes);
    List<byte[]> values =
        List.of(bytes(Long.toString(mark)), answer.encoded(key), bytes(Long.toString(ttl.toMillis())));
    try {
      boolean kept = Long.valueOf(1).equals(again(() -> client.eval(bytes(KEEP), keys, values)));
      if (kept && refusal.getAndSet(null) != null) {
        LOG.info("the response cache's store {} keeps answers again", place());
      }
      return kept;
    } catch (JedisDataException refused) {
      // Out of memory, read only …: it still answers, so looking up goes on.
      metrics.storeFailed("keep");
      if (refusal.compareAndSet(null, since(refused))) {
        LOG.warn("the response cache's store {} does not keep: {}", place(), refused.getMessage());
      }
    } catch (RuntimeException lost) {
      failed("keep", lost);
    }
    return false;
  }

  private String since(RuntimeException why) {
    return clock.instant() + ": " + why.getMessage();
  }

  @Override
  public OptionalLong flush(@Nullable String tenant, @Nullable String model) throws StoreUnavailableException {
    String pattern =
        "%s:%s:%s:*".formatted(
            escaped(settings.prefix()),
            tenant == null ? "*" : AnswerKey.shortened(tenant),
            model == null ? "*" : AnswerKey.shortened(model));
    try {
      client.incr(flushes);
      long forgotten = 0;
      byte[] cursor = ScanParams.SCAN_POINTER_START_BINARY;
      ScanParams which = new ScanParams().match(bytes(pattern)).count(SCANNED);
      do {
        ScanResult<byte[]> page = client.scan(cursor, which);
        if (!page.getResult().isEmpty()) {
          forgotten += client.unlink(page.getResult().toArray(byte[][]::new));
        }
        cursor = page.getCursorAsBytes();
      } while (!ScanParams.SCAN_POINTER_START.equals(new String(cursor, UTF_8)));
      return OptionalLong.of(forgotten);
    } catch (JedisException failed) {
      failed("flush", failed);
      throw new StoreUnavailableException(place() + " failed: " + failed.getMessage(), failed);
    }
  }

  /**
   * Once more where a pooled connection turned out to be dead: servers close those that idle, and all are dead after a
   * restart.
   */
  private <T> T again(Supplier<T> command) {
    try {
      return command.get();
    } catch (JedisConnectionException broken) {
      if (broken.getCause() instanceof SocketTimeoutException) {
        throw broken;
      }
      client.getPool().clear();
      return command.get();
    }
  }

  private void failed(String operation, RuntimeException why) {
    metrics.storeFailed(operation);
    if (why.getCause() instanceof NoSuchElementException) {
      // Every connection is at work: the server is there, only slower than we ask.
      return;
    }
    // The reason stays that of the first failure, with its time.
    if (breaker.isClosed() && breaker.onFailure(since(why)) && !closed) {
      client.getPool().clear();
      LOG.warn("the response cache's store {} is unavailable, requests bypass it: {}", place(), why.getMessage());
      Thread.ofVirtual().name("kvasir-answers-store").start(this::awaitRecovery);
    }
  }

  private void awaitRecovery() {
    while (!closed) {
      try {
        Thread.sleep(settings.retry());
        value(client.mget(flushes), 0);
        breaker.onSuccess();
        LOG.info("the response cache's store {} is available again", place());
        return;
      } catch (RuntimeException still) {
        LOG.debug("the response cache's store {} is still unavailable: {}", place(), still.getMessage());
      } catch (InterruptedException stopped) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  @Override
  public String name() {
    return "redis";
  }

  @Override
  public OptionalLong entries() {
    return OptionalLong.empty();
  }

  @Override
  public OptionalLong bytes() {
    return OptionalLong.empty();
  }

  @Override
  public Optional<String> outage() {
    return breaker.openReason().map(reason -> place() + " since " + reason);
  }

  @Override
  public Optional<String> refusal() {
    return Optional.ofNullable(refusal.get()).map(reason -> place() + " since " + reason);
  }

  @Override
  public void close() {
    closed = true;
    client.close();
  }

  /** Where it is, without who we are there. */
  private String place() {
    return "%s://%s:%d".formatted(settings.url().getScheme(), settings.url().getHost(), port(settings.url()));
  }

  private byte[] at(AnswerKey key) {
    return bytes(
        "%s:%s:%s:%s".formatted(
            settings.prefix(), AnswerKey.shortened(key.tenant()), AnswerKey.shortened(key.model()), key.hash()));
  }

  /** One of the values that were fetched; a proxy may have put the error of one of its servers in its place. */
  private static byte @Nullable [] value(List<?> values, int index) {
    Object value = values.get(index);
    if (value instanceof JedisDataException error) {
      throw error;
    }
    return (byte[]) value;
  }

  private static long mark(byte @Nullable [] count) {
    try {
      return count == null ? 0 : Long.parseLong(new String(count, UTF_8));
    } catch (NumberFormatException foreign) {
      // Another program's key: nothing is kept under a mark that cannot be.
      return -1;
    }
  }

  private static String escaped(String glob) {
    return glob.replaceAll("([\\[\\]*?\\\\])", "\\\\$1");
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
