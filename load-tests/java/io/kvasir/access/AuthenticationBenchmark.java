package io.kvasir.access;

import io.kvasir.http.Headers;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What authentication costs a request, among 10,000 keys. Baseline: a router without keys. Run with
 * {@code java -cp target/test-classes:target/classes:<test class path> org.openjdk.jmh.Main AuthenticationBenchmark
 * -prof gc}.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
@Fork(1)
public class AuthenticationBenchmark {
  private static final int KEYS = 10_000;
  private static final Grants GRANTS = Grants.ALL;

  private final AccessControl keys = control();
  private final AccessControl anonymous = control();
  private final AccessControl tokens =
      new AccessControl(new RememberedTokens(), InstantSource.system(), new Metrics(new PrometheusRegistry()));
  private final Headers token = request("eyJ" + "x".repeat(860));
  private final Headers known = request("kv-" + "x".repeat(39) + 4711);
  private final Headers unknown = request("kv-" + "y".repeat(43));

  public AuthenticationBenchmark() {
    List<ApiKey> all = new ArrayList<>();
    for (int i = 0; i < KEYS; i++) {
      KeyDigest digest = KeyDigest.of("kv-" + "x".repeat(39) + i);
      all.add(new ApiKey("key-" + i, digest, null, "tenant", null, false, GRANTS, Limits.NONE));
    }
    keys.publish(KeyRing.of(all, Map.of()));
    tokens.publish(KeyRing.of(all, Map.of()));
    anonymous.publishAnonymous(Caller.anonymous(false));
  }

  @Benchmark
  public Authentication knownKey() {
    return keys.authenticate(known);
  }

  @Benchmark
  public Authentication unknownKey() {
    return keys.authenticate(unknown);
  }

  @Benchmark
  public Authentication rememberedToken() {
    return tokens.authenticate(token);
  }

  @Benchmark
  public Authentication routerWithoutKeys() {
    return anonymous.authenticate(known);
  }

  /** Verified tokens, found by digest as {@link io.kvasir.access.token.JwtVerifier} finds them. */
  private static final class RememberedTokens implements TokenVerifier {
    private final Map<KeyDigest, Authentication> verified = new ConcurrentHashMap<>();

    @Override
    public Authentication verify(String text, KeyDigest digest) {
      return verified.computeIfAbsent(
          digest, _ -> new Authentication.Accepted(Caller.anonymous(false)));
    }
  }

  private static AccessControl control() {
    return new AccessControl(null, InstantSource.system(), new Metrics(new PrometheusRegistry()));
  }

  private static Headers request(String key) {
    return Headers.of(
        "Host", "kvasir", "User-Agent", "OpenAI/Python", "Accept", "application/json", "Content-Type",
        "application/json", "Authorization", "Bearer " + key);
  }
}
