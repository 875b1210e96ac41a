package io.kvasir.access.token;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.jwk.AsymmetricJWK;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.KeyUse;
import io.kvasir.access.token.TokenSettings.KeySource;
import io.kvasir.http.HttpCalls;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.prometheus.metrics.core.metrics.Counter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.PublicKey;
import java.security.interfaces.ECPublicKey;
import java.security.interfaces.RSAPublicKey;
import java.text.ParseException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The public keys of an issuer of tokens, read in the background: at the start, at intervals, and when a token names a
 * key that is not known. Keys that cannot be read again stay in use. Owns its thread. Thread-safe.
 */
final class IssuerKeys implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(IssuerKeys.class);
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final Duration RETRY_INTERVAL = Duration.ofSeconds(10);
  private static final long MAX_BYTES = 1 << 20;
  private static final int MAX_KEYS = 100;
  private static final int MIN_RSA_BITS = 2048;

  /**
   * A key that signatures are checked with.
   *
   * @param id its {@code kid}, null when it has none
   * @param algorithm the only one it is for, null for all of its kind
   */
  record IssuerKey(@Nullable String id, @Nullable String algorithm, PublicKey key) {}

  /** Keys that are in use together, and the tokens that were verified with them: they go when the keys do. */
  record KeySet(List<IssuerKey> keys, VerifiedTokens verified) {}

  private final KeySource source;
  private final Duration minInterval;
  private final int remembered;
  private final Counter refreshes;
  private final HttpCalls calls = new HttpCalls();
  private final BlockingQueue<Boolean> wake = new ArrayBlockingQueue<>(1);
  private final Thread reader;
  private volatile @Nullable KeySet current;
  private volatile boolean reading = true;
  private volatile long readNanos;
  private volatile String fault = "";

  /**
   * Starts to read.
   *
   * @param minInterval between readings that unknown keys bring about
   * @param remembered how many tokens are remembered that have been verified with the keys
   */
  IssuerKeys(KeySource source, Duration minInterval, int remembered, Metrics metrics) {
    this.source = source;
    this.minInterval = minInterval;
    this.remembered = remembered;
    this.refreshes =
        Counter.builder()
            .name("kvasir_jwks_refreshes_total")
            .help("Readings of the public keys that tokens are checked with, by result: read, failed")
            .labelNames("result")
            .register(metrics.registry());
    refreshes.initLabelValues("read");
    refreshes.initLabelValues("failed");
    this.reader = Thread.ofVirtual().name("kvasir-jwks").start(this::readAgainAndAgain);
  }

  /** The keys, null before they have been read. */
  @Nullable KeySet current() {
    return current;
  }

  /** Has the keys read again, unless they were a moment ago; returns whether they are being read. */
  boolean refresh() {
    if (!reading && System.nanoTime() - readNanos >= minInterval.toNanos()) {
      reading = true;
      var _ = wake.offer(true);
    }
    return reading;
  }

  /** Why the keys could not be read, empty when they could. */
  Optional<Problem> problem() {
    String open = fault;
    return open.isEmpty()
        ? Optional.empty()
        : Optional.of(new Problem(
            current == null ? Problem.Severity.ERROR : Problem.Severity.WARNING,
            "the public keys of tokens cannot be read: " + open,
            "see that kvasir.access.jwt is right and that this node can read them; it is tried again"));
  }

  @Override
  public void close() {
    reader.interrupt();
    calls.close();
  }

  private void readAgainAndAgain() {
    try {
      while (true) {
        read();
        Duration pause = fault.isEmpty() ? source.refresh() : RETRY_INTERVAL;
        var _ = wake.poll(pause.toMillis(), TimeUnit.MILLISECONDS);
        reading = true;
      }
    } catch (InterruptedException closed) {
      LOG.debug("the reading of public keys has ended");
    }
  }

  private void read() throws InterruptedException {
    try {
      List<IssuerKey> read = usable(JWKSet.parse(text()));
      KeySet before = current;
      if (before == null || !read.equals(before.keys)) {
        current = new KeySet(read, new VerifiedTokens(remembered));
        LOG.info("{} public keys of tokens are in use", read.size());
      }
      fault = "";
      refreshes.labelValues("read").inc();
    } catch (IOException | ParseException | RuntimeException failed) {
      refreshes.labelValues("failed").inc();
      fault = String.valueOf(failed.getMessage());
      LOG.warn("the public keys of tokens cannot be read: {}", fault);
    } finally {
      readNanos = System.nanoTime();
      reading = false;
    }
  }

  private String text() throws IOException, InterruptedException {
    return switch (source) {
      case KeySource.File(var file, var _) -> {
        if (Files.size(file) > MAX_BYTES) {
          throw new IOException(file + " is longer than a set of keys");
        }
        yield Files.readString(file);
      }
      case KeySource.Url(var address, var _) -> {
        HttpCalls.Reply reply = calls.send(HttpCalls.Request.get(address, TIMEOUT).withMaxBytes(MAX_BYTES));
        if (reply.status() != 200) {
          throw new IOException(address + " answers " + reply.status());
        }
        yield new String(reply.body(), StandardCharsets.UTF_8);
      }
    };
  }

  /** The keys for signatures that are strong enough; of others, and of secret ones, nothing is kept. */
  private static List<IssuerKey> usable(JWKSet set) throws IOException {
    List<IssuerKey> usable = new ArrayList<>();
    for (JWK jwk : set.getKeys()) {
      boolean signs = jwk.getKeyUse() == null || jwk.getKeyUse().equals(KeyUse.SIGNATURE);
      if (signs && jwk instanceof AsymmetricJWK asymmetric) {
        try {
          PublicKey key = asymmetric.toPublicKey();
          if (key instanceof ECPublicKey
              || (key instanceof RSAPublicKey rsa && rsa.getModulus().bitLength() >= MIN_RSA_BITS)) {
            String algorithm = jwk.getAlgorithm() == null ? null : jwk.getAlgorithm().getName();
            usable.add(new IssuerKey(jwk.getKeyID(), algorithm, key));
          }
        } catch (JOSEException unsupported) {
          LOG.debug("a public key of tokens is not supported: {}", unsupported.getMessage());
        }
      }
    }
    if (usable.isEmpty() || usable.size() > MAX_KEYS) {
      throw new IOException("there are %d RSA and EC keys for signatures".formatted(usable.size()));
    }
    return List.copyOf(usable);
  }
}
