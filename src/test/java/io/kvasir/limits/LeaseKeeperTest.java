package io.kvasir.limits;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.access.Limits;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.actor.testkit.typed.javadsl.ManualTime;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.DispatcherSelector;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** When a node's leases are looked at. Actors run on the thread of the test. */
final class LeaseKeeperTest {
  private static ActorTestKit kit;

  private static final Duration TIMEOUT = Duration.ofMillis(200);
  private static final Duration STEP = TIMEOUT.multipliedBy(5);
  private static final Duration MINUTE = Duration.ofMinutes(1);

  private final ManualClock nanos = new ManualClock();
  private final InstantSource clock = () -> Instant.ofEpochMilli(nanos.nanos() / 1_000_000);
  private final LimitLedger owner = new LimitLedger("owner", 0);
  private final List<Account> forgotten = new ArrayList<>();
  private boolean ownerAnswers = true;
  private final ActorRef<LeaseKeeper.Message> keeper =
      kit.spawn(
          LeaseKeeper.create(
              TIMEOUT,
              answers ->
                  new LeaseRenewals(
                      (limit, sequence, reports) -> {
                        if (ownerAnswers) {
                          answers.tell(
                              new LimitOwner.Renewed(limit, sequence, owner.renew("node", sequence, reports, 0)));
                        }
                      },
                      forgotten::add,
                      () -> 1,
                      TIMEOUT,
                      new LimitMetrics(new Metrics(new PrometheusRegistry()), 0),
                      nanos,
                      clock)),
          DispatcherSelector.fromConfig("pekko.test.calling-thread-dispatcher"));
  private final Account account =
      new Accounts(MINUTE, 0).of(SimulatedNodes.caller(new Limits(60, 0, 0, List.of()))).getFirst();

  @BeforeAll
  static void start() {
    kit = ActorTestKit.create(ManualTime.config());
  }

  @AfterAll
  static void stop() {
    kit.shutdownTestKit();
  }

  @Test
  void ofNoAccounts_nothingIsChecked() {
    pass(STEP);

    assertThat(readingsIn(MINUTE)).isZero();
  }

  @Test
  void ofAccountsThatAreForgotten_nothingIsChecked() {
    keeper.tell(new LeaseKeeper.Renew(account));
    assertThat(readingsIn(TIMEOUT)).isPositive();

    pass(LimitLedger.LEASE.multipliedBy(3));
    assertThat(forgotten).containsExactly(account);
    assertThat(readingsIn(MINUTE)).isZero();
  }

  @Test
  void askThatIsNotAnswered_isGivenUp_alsoAfterARest() {
    keeper.tell(new LeaseKeeper.Renew(account));
    pass(LimitLedger.LEASE.multipliedBy(3));
    assertThat(forgotten).containsExactly(account);

    ownerAnswers = false;
    keeper.tell(new LeaseKeeper.Renew(account));
    pass(TIMEOUT.multipliedBy(2));
    assertThat(account.hasOwnShare()).isTrue();
  }

  private long readingsIn(Duration time) {
    long before = nanos.readings();
    ManualTime.get(kit.system()).timePasses(time);
    return nanos.readings() - before;
  }

  /** In steps that are short beside a lease, since in each the clock moves before the timers do. */
  private void pass(Duration time) {
    for (Duration left = time; left.isPositive(); left = left.minus(STEP)) {
      nanos.advance(STEP);
      ManualTime.get(kit.system()).timePasses(STEP);
    }
  }
}
