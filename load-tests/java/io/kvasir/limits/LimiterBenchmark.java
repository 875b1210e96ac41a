package io.kvasir.limits;

import io.kvasir.access.Caller;
import io.kvasir.access.Grants;
import io.kvasir.access.Limits;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
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
 * What limits cost a request: admission, reservation and settlement of a caller with four limits of its key and two of
 * its tenant, whose owners are in this process. Baseline: a caller without limits. Run with {@code java -cp
 * target/test-classes:target/classes:<test class path> org.openjdk.jmh.Main LimiterBenchmark -prof gc}.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
@Fork(value = 1, jvmArgsAppend = "-Xmx512m")
public class LimiterBenchmark {
  private static final long MUCH = 1_000_000_000_000L;
  private static final Demand DEMAND = new Demand(1000, 100);
  private static final Work WORK = new Work(100, 900, 50);

  private final Caller unlimited = Caller.anonymous(false);
  private final Caller limited =
      new Caller(
          "key",
          "tenant",
          Grants.ALL,
          new Limits(MUCH, MUCH, 1_000_000, List.of(new Limits.Budget(MUCH * 1000, Duration.ofDays(1)))),
          new Limits(MUCH, MUCH, 0, List.of()));
  private final Limiter limiter = limiter();

  @Benchmark
  public LimitReservation withoutLimits() throws InterruptedException {
    return request(unlimited);
  }

  @Benchmark
  public LimitReservation withLimits() throws InterruptedException {
    return request(limited);
  }

  private LimitReservation request(Caller caller) throws InterruptedException {
    if (!(limiter.admit(caller) instanceof Admission.Admitted(LimitReservation reservation))
        || reservation.reserve(DEMAND) != null) {
      throw new IllegalStateException("refused");
    }
    reservation.settle(WORK);
    return reservation;
  }

  /** Renewals take place at once, in the thread of the request. */
  private static Limiter limiter() {
    LimitSettings settings =
        new LimitSettings(false, new WorkCost(0.1, 3), Duration.ofMinutes(1), Duration.ofMillis(200), 10);
    LimitMetrics metrics = new LimitMetrics(new Metrics(new PrometheusRegistry()), 10);
    Accounts accounts = new Accounts(settings.burst(), 10);
    InstantSource clock = InstantSource.system();
    LimitLedger[] owners = {new LimitLedger("key", clock.millis()), new LimitLedger("tenant", clock.millis())};
    LeaseRenewals[] renewals = new LeaseRenewals[1];
    renewals[0] =
        new LeaseRenewals(
            (limit, sequence, reports) -> renewals[0].answered(
                limit,
                sequence,
                owners[limit.startsWith("key") ? 0 : 1].renew("node", sequence, reports, clock.millis())),
            accounts::idle,
            () -> 1,
            settings.ownerTimeout(),
            metrics,
            NanoClock.SYSTEM,
            clock);
    LimitCheck check = new LimitCheck(settings, renewals[0]::renew, NanoClock.SYSTEM, clock);
    return new Limiter(settings, accounts, check, metrics, clock);
  }
}
