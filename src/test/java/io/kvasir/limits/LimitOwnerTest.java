package io.kvasir.limits;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.actor.testkit.typed.javadsl.ManualTime;
import org.apache.pekko.actor.testkit.typed.javadsl.TestProbe;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.cluster.sharding.typed.javadsl.ClusterSharding;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The messages to the owner of a limit, and its answers. */
final class LimitOwnerTest {
  private static ActorTestKit kit;

  private static final Quota RPM = new Quota(Dimension.REQUESTS, Quota.MINUTE, 6000, 6000);

  private final AtomicLong millis = new AtomicLong(1_700_000_000_000L);
  private final TestProbe<ClusterSharding.ShardCommand> shard = kit.createTestProbe();
  private final TestProbe<LimitOwner.Renewed> node = kit.createTestProbe();
  private final TestProbe<LimitOwner.Message> next = kit.createTestProbe();
  private ActorRef<LimitOwner.Message> owner = owner();

  @BeforeAll
  static void start() {
    kit = ActorTestKit.create(ManualTime.config());
  }

  @AfterAll
  static void stop() {
    kit.shutdownTestKit();
  }

  private ActorRef<LimitOwner.Message> owner() {
    return kit.spawn(
        LimitOwner.create(
            "key:k", shard.ref(), handover -> next.ref().tell(handover), () -> Instant.ofEpochMilli(millis.get())));
  }

  private LeaseGrant renew(
      String name, long sequence, long granted, long available, long waiting, @Nullable Stamp stamp) {
    return renew(name, sequence, RPM, granted, available, waiting, stamp);
  }

  private LeaseGrant renew(
      String name, long sequence, Quota quota, long granted, long available, long waiting, @Nullable Stamp stamp) {
    owner.tell(
        new LimitOwner.Renew(
            name,
            sequence,
            List.of(
                new LeaseReport(
                    quota, granted, available, new LeaseReport.Need(true, waiting, 1), 0, 0, stamp)),
            node.ref()));
    LimitOwner.Renewed renewed = node.receiveMessage();
    assertThat(renewed.limit()).isEqualTo("key:k");
    assertThat(renewed.sequence()).isEqualTo(sequence);
    return renewed.grants().getFirst();
  }

  @Test
  void node_isGrantedWhatItNeeds_andASecondInAdvance() {
    LeaseGrant grant = renew("a", 1, 0, 0, 7, null);
    assertThat(grant.granted()).isEqualTo(107);
    assertThat(grant.target()).isEqualTo(100);
    assertThat(grant.stamp().level()).isEqualTo(6000 - 107);
  }

  @Test
  void grantWhoseAnswerWasLost_comesBack() {
    renew("a", 1, 0, 0, 7, null);
    LeaseGrant again = renew("a", 2, 0, 0, 7, null);
    assertThat(again.granted()).isEqualTo(107);
    assertThat(again.stamp().level()).isEqualTo(6000 - 107);
  }

  @Test
  void reportThatIsOvertakenByALaterOne_isNotAnswered() {
    renew("a", 2, 0, 0, 7, null);
    owner.tell(new LimitOwner.Renew("a", 1, List.of(), node.ref()));
    node.expectNoMessage(Duration.ZERO);
  }

  @Test
  void nextOwner_continuesFromTheLatestStamp_whicheverNodeHasIt() {
    LeaseGrant early = renew("a", 1, 0, 0, 1000, null);
    millis.addAndGet(1);
    LeaseGrant late = renew("b", 1, 0, 0, 2000, null);
    owner = owner();
    LeaseGrant first = renew("a", 2, early.granted(), 0, 10, early.stamp());
    LeaseGrant second = renew("b", 2, late.granted(), 0, 10, late.stamp());
    assertThat(second.stamp().level())
        .isEqualTo(6000 - late.granted() - first.granted() - (second.granted() - late.granted()));
  }

  /** Also where no node reports: those that stopped when it was used up, and a node that is new. */
  @ParameterizedTest
  @EnumSource(Dimension.class)
  void nextOwner_continuesFromWhatTheLastOneLeaves(Dimension dimension) {
    Quota quota = new Quota(dimension, Duration.ofDays(1).toMillis(), 1000, 1000);
    renew("a", 1, quota, 0, 0, 1000, null);
    renew("a", 2, quota, 1000, 0, 0, null);
    owner.tell(LimitOwner.Stop.INSTANCE);
    LimitOwner.Message handover = next.receiveMessage();
    owner = owner();
    owner.tell(handover);
    assertThat(renew("new", 1, quota, 0, 0, 10, null).granted()).isZero();
    owner.tell(LimitOwner.Stop.INSTANCE);
    assertThat(next.receiveMessage()).isInstanceOf(LimitOwner.Handover.class);
  }

  @Test
  void ownerOfWhatNobodyUses_leavesNothing() {
    renew("a", 1, 0, 0, 7, null);
    millis.addAndGet(60_000);
    ManualTime.get(kit.system()).timePasses(Duration.ofSeconds(1));
    shard.expectMessageClass(ClusterSharding.Passivate.class);
    owner.tell(LimitOwner.Stop.INSTANCE);
    next.expectTerminated(owner);
    next.expectNoMessage(Duration.ZERO);
  }

  @Test
  void rate_refillsAtTheNextOwner_whoseClockIsBehind() {
    LeaseGrant before = renew("a", 1, 0, 0, 6000, null);
    millis.addAndGet(-1_200_000);
    owner = owner();
    assertThat(renew("a", 2, before.granted(), 0, 0, before.stamp()).stamp().level()).isZero();
    millis.addAndGet(10_000);
    assertThat(renew("a", 3, before.granted(), 0, 1000, before.stamp()).granted()).isEqualTo(7000);
  }

  @Test
  void budget_isWholeWithTheNextOwnersNextWindow_thoughTheLastOnesClockWasDaysAhead() {
    Quota budget = new Quota(Dimension.BUDGET, Duration.ofDays(1).toMillis(), 1000, 1000);
    Stamp ahead = new Stamp("before", millis.get() + Duration.ofDays(3).toMillis(), 0);
    assertThat(renew("a", 1, budget, 1000, 0, 1, ahead).granted()).isEqualTo(1000);
    millis.addAndGet(Duration.ofDays(1).toMillis());
    assertThat(renew("a", 2, budget, 1000, 0, 100, ahead).granted()).isEqualTo(1110);
  }

  @Test
  void ownerOfWhatNobodyUses_asksToBeStopped_thoughItsClockHasGoneBack() {
    renew("a", 1, 0, 0, 7, null);
    millis.addAndGet(-1_200_000);
    renew("b", 1, 0, 0, 7, null);
    millis.addAndGet(60_000);
    ManualTime.get(kit.system()).timePasses(Duration.ofSeconds(1));
    shard.expectMessageClass(ClusterSharding.Passivate.class);
  }

  @Test
  void ownerOfWhatNobodyUses_asksToBeStopped() {
    renew("a", 1, 0, 0, 7, null);
    ManualTime.get(kit.system()).timePasses(Duration.ofSeconds(1));
    shard.expectNoMessage(Duration.ZERO);
    millis.addAndGet(60_000);
    ManualTime.get(kit.system()).timePasses(Duration.ofSeconds(1));
    shard.expectMessageClass(ClusterSharding.Passivate.class);
  }
}
