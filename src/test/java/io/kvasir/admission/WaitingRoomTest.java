package io.kvasir.admission;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.admission.AdmissionSettings.ClassSettings;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A room in simulated time: who is let in, who is refused with what figures, and how it shares a server. */
final class WaitingRoomTest {
  private final ManualClock clock = new ManualClock();
  private final List<String> went = new ArrayList<>();
  private int freeWorkers;

  private WaitingRoom room(UnaryOperator<ClassSettings> changed) {
    AdmissionMetrics metrics = new AdmissionMetrics(new Metrics(new PrometheusRegistry()));
    return new WaitingRoom(AdmissionFixture.settings(changed), clock, () -> 0.5, metrics);
  }

  private static UnaryOperator<ClassSettings> bounds(Duration longestWait, int length, int perTenant, long bytes) {
    return wide ->
        new ClassSettings(wide.engineQueue(), longestWait, wide.starvation(), length, perTenant, bytes, 0);
  }

  /** A request that goes when the workers have room. */
  private final class Request implements Waiter {
    final String name;
    final int tokens;
    @Nullable AdmissionRefusal refusal;
    boolean dismissed;
    boolean alwaysHeld;
    boolean programHeld;
    int attempts;

    Request(String name, int tokens) {
      this.name = name;
      this.tokens = tokens;
    }

    @Override
    public Attempt attempt(Standing standing) {
      attempts++;
      if (programHeld) {
        return new Attempt.Held(HoldReason.PROGRAM);
      }
      if (freeWorkers == 0 || alwaysHeld) {
        return new Attempt.Held(HoldReason.FULL);
      }
      freeWorkers--;
      went.add(name);
      return new Attempt.Went(tokens, tokens);
    }

    @Override
    public void refused(AdmissionRefusal why) {
      refusal = why;
    }

    @Override
    public void dismissed() {
      dismissed = true;
    }
  }

  @Test
  void waiting_endsWhenWorkersHaveRoom() {
    WaitingRoom room = room(UnaryOperator.identity());
    assertThat(room.isEmpty()).isTrue();
    room.add(AdmissionFixture.claim("a"), "m", 10, 0, new Request("first", 10));
    room.add(AdmissionFixture.claim("a"), "m", 10, 0, new Request("second", 10));
    room.admit();
    assertThat(went).isEmpty();
    assertThat(room.length()).isEqualTo(2);
    freeWorkers = 10;
    room.admit();
    assertThat(went).containsExactly("first", "second");
    assertThat(room.isEmpty()).isTrue();
  }

  @Test
  void held_doesNotHoldUpOthers() {
    WaitingRoom room = room(UnaryOperator.identity());
    freeWorkers = 10;
    Request stuck = new Request("stuck", 10);
    stuck.alwaysHeld = true;
    room.add(AdmissionFixture.claim("a"), "m", 10, 0, stuck);
    room.add(AdmissionFixture.claim("a"), "m", 10, 0, new Request("behind it", 10));
    room.add(
        AdmissionFixture.claim(ServiceClass.DEFAULT, "a", "another"), "m", 10, 0, new Request("another program", 10));
    room.add(AdmissionFixture.claim("b"), "m", 10, 0, new Request("another tenant", 10));
    room.admit();
    assertThat(went).containsExactly("another program", "another tenant");
    assertThat(room.length()).isEqualTo(2);
  }

  /** As those of one pool that is full, before those of another in the same cell. */
  @Test
  void manyThatAreHeld_doNotHoldUpOthersForLong() {
    WaitingRoom room = room(UnaryOperator.identity());
    freeWorkers = 10;
    List<Request> stuck = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      Request one = new Request("stuck", 10);
      one.alwaysHeld = true;
      stuck.add(one);
      room.add(AdmissionFixture.claim("tenant-" + i), "m", 10, 0, one);
    }
    room.add(AdmissionFixture.claim("b"), "m", 10, 0, new Request("behind them", 10));
    for (int round = 0; round < 11; round++) {
      room.admit();
      clock.advance(Duration.ofMillis(10));
    }
    assertThat(went).containsExactly("behind them");
    assertThat(stuck.stream().mapToInt(each -> each.attempts).sum()).as("looks in vain").isLessThan(200);
  }

  @Test
  void placeIsKeptByArrival_fromAnotherHome() {
    WaitingRoom room = room(UnaryOperator.identity());
    room.add(AdmissionFixture.claim("a"), "m", 10, 0, new Request("new", 10));
    room.add(AdmissionFixture.claim("a").waited(5_000), "m", 10, 0, new Request("from before", 10));
    freeWorkers = 10;
    room.admit();
    assertThat(went).containsExactly("from before", "new");
  }

  @Test
  void left_neverGoes() {
    WaitingRoom room = room(UnaryOperator.identity());
    WaitingRoom.Place place = room.add(AdmissionFixture.claim("a"), "m", 10, 0, new Request("left", 10));
    assertThat(requireNonNull(place).leave()).isTrue();
    assertThat(place.leave()).isFalse();
    freeWorkers = 10;
    room.admit();
    assertThat(went).isEmpty();
    assertThat(room.isEmpty()).isTrue();
  }

  @Test
  void bounds_refuseWithKnobAndFigures() {
    WaitingRoom room = room(bounds(Duration.ofMinutes(1), 3, 2, 350));
    room.add(AdmissionFixture.claim("a"), "m", 10, 0, new Request("1", 10));
    room.add(AdmissionFixture.claim("a"), "m", 10, 0, new Request("2", 10));
    Request third = new Request("3", 10);
    assertThat(room.add(AdmissionFixture.claim("a"), "m", 10, 0, third)).isNull();
    assertThat(third.refusal)
        .isEqualTo(
            new AdmissionRefusal(
                RefusalReason.TENANT_QUEUE_FULL, "admission.classes.default.max-waiting-per-tenant", 3, 2, "requests",
                3_000));
    Request large = new Request("large", 10);
    room.add(new Claim(ServiceClass.DEFAULT, "b", 1, null, 151, 0), "m", 10, 0, large);
    assertThat(large.refusal)
        .isEqualTo(
            new AdmissionRefusal(
                RefusalReason.QUEUE_BYTES, "admission.classes.default.max-bytes", 351, 350, "bytes", 3_000));
    room.add(AdmissionFixture.claim("b"), "m", 10, 0, new Request("4", 10));
    Request fifth = new Request("5", 10);
    room.add(AdmissionFixture.claim("c"), "m", 10, 0, fifth);
    assertThat(requireNonNull(fifth.refusal).reason()).isEqualTo(RefusalReason.QUEUE_FULL);
    assertThat(requireNonNull(fifth.refusal).callersOwn()).isFalse();
    Request ofAnotherClass = new Request("6", 10);
    room.add(AdmissionFixture.claim(ServiceClass.BULK, "a", null), "m", 10, 0, ofAnotherClass);
    assertThat(ofAnotherClass.refusal).isNull();
    assertThat(room.status().stream().filter(status -> status.serviceClass() == ServiceClass.DEFAULT))
        .containsExactly(new ClassStatus(ServiceClass.DEFAULT, 3, 300, 30, 0, Map.of("turn", 3)));
  }

  @Test
  void requestThatWasTakenBack_isNotRefused() {
    WaitingRoom room = room(bounds(Duration.ofSeconds(30), 1, 1, 10_000));
    room.add(AdmissionFixture.claim("a"), "m", 10, 0, new Request("1", 10));
    Request refused = new Request("2", 10);
    room.add(AdmissionFixture.claim("a"), "m", 10, 0, refused);
    assertThat(refused.refusal).isNotNull();

    Claim claim = AdmissionFixture.claim("a").preemptible(1).preempted(10);
    Request again = new Request("3", 10);
    room.add(claim, "m", 10, 0, again);

    assertThat(again.refusal).isNull();
    assertThat(room.length()).isEqualTo(2);
    assertThat(claim.mayBePreempted()).isFalse();
  }

  @Test
  void requestThatWasTakenBack_goesBeforeThoseThatCameAfterIt() {
    WaitingRoom room = room(UnaryOperator.identity());
    clock.advance(Duration.ofSeconds(1));
    room.add(AdmissionFixture.claim("a").waited(290), "m", 10, 0, new Request("later", 10));
    room.add(AdmissionFixture.claim("a").preemptible(1).preempted(300), "m", 10, 0, new Request("taken back", 10));
    freeWorkers = 10;
    room.admit();
    assertThat(went).containsExactly("taken back", "later");
  }

  @Test
  void status_saysWhatRequestsWaitFor() {
    WaitingRoom room = room(UnaryOperator.identity());
    freeWorkers = 0;
    Request held = new Request("held", 10);
    Request program = new Request("program", 10);
    program.programHeld = true;
    room.add(AdmissionFixture.claim("a"), "m", 10, 0, held);
    room.add(AdmissionFixture.claim("a"), "m", 10, 0, new Request("behind", 10));
    room.add(AdmissionFixture.claim("b"), "m", 10, 0, program);

    room.admit();
    assertThat(reasons(room)).isEqualTo(Map.of("full", 1, "program", 1, "turn", 1));

    freeWorkers = 2;
    room.admit();
    assertThat(reasons(room)).isEqualTo(Map.of("program", 1));
  }

  private static Map<String, Integer> reasons(WaitingRoom room) {
    return room.status().stream()
        .filter(status -> status.serviceClass() == ServiceClass.DEFAULT)
        .findAny().orElseThrow().reasons();
  }

  @Test
  void longestWait_isBounded() {
    WaitingRoom room = room(bounds(Duration.ofSeconds(30), 10, 10, 10_000));
    Request early = new Request("early", 10);
    Request later = new Request("later", 10);
    room.add(AdmissionFixture.claim("a"), "m", 10, 0, early);
    clock.advance(Duration.ofSeconds(10));
    room.add(AdmissionFixture.claim("b"), "m", 10, 0, later);
    clock.advance(Duration.ofSeconds(20));
    room.admit();
    assertThat(requireNonNull(early.refusal).reason()).isEqualTo(RefusalReason.TIMEOUT);
    assertThat(requireNonNull(early.refusal).measured()).isEqualTo(30_000);
    assertThat(later.refusal).isNull();
    assertThat(room.length()).isEqualTo(1);
  }

  @Test
  void expectedWait_refusesAtOnce() {
    WaitingRoom room = room(bounds(Duration.ofSeconds(15), 1_000, 1_000, 1L << 30));
    // 100 tokens a second go for ten seconds, while more wait.
    for (int i = 0; i < 30; i++) {
      room.add(AdmissionFixture.claim("a"), "m", 100, 100, new Request("a" + i, 100));
    }
    for (int second = 0; second < 10; second++) {
      clock.advance(Duration.ofSeconds(1));
      admitOne(room);
    }
    // 2000 tokens are left, which take twenty seconds.
    Request tooMuch = new Request("too much", 100);
    room.add(AdmissionFixture.claim("a").waited(1_000), "m", 100, 100, tooMuch);
    assertThat(requireNonNull(tooMuch.refusal).reason()).isEqualTo(RefusalReason.EXPECTED_WAIT);
    assertThat(requireNonNull(tooMuch.refusal).measured()).isBetween(20_500L, 21_500L);
    assertThat(requireNonNull(tooMuch.refusal).retryAfterMillis()).isBetween(19_500L, 20_500L);
    Request ofAnotherTenant = new Request("another tenant's", 100);
    room.add(AdmissionFixture.claim("b"), "m", 100, 100, ofAnotherTenant);
    assertThat(ofAnotherTenant.refusal).as("its tenant's turn comes soon").isNull();
  }

  @Test
  void programsThatWaitForRoom_areInNobodysWay() {
    WaitingRoom room = room(bounds(Duration.ofSeconds(15), 1_000, 1_000, 1L << 30));
    for (int i = 0; i < 30; i++) {
      Request large = new Request("program " + i, 100_000);
      large.programHeld = true;
      room.add(AdmissionFixture.claim(ServiceClass.DEFAULT, "a", "program " + i), "m", 100_000, 100_000, large);
    }
    for (int i = 0; i < 10; i++) {
      room.add(AdmissionFixture.claim("a"), "m", 100, 100, new Request("a" + i, 100));
    }
    for (int second = 0; second < 5; second++) {
      clock.advance(Duration.ofSeconds(1));
      admitOne(room);
    }
    assertThat(went).containsExactly("a0", "a1", "a2", "a3", "a4");
    Request next = new Request("next", 100);
    room.add(AdmissionFixture.claim("a"), "m", 100, 100, next);
    assertThat(next.refusal).as("500 tokens are before it, at 100 a second").isNull();
  }

  @Test
  void programThatWaitsForRoom_isPassedOverByOthersOfItsName() {
    WaitingRoom room = room(UnaryOperator.identity());
    Request recognised = new Request("by its prompt", 100_000);
    recognised.programHeld = true;
    room.add(AdmissionFixture.claim("a"), "m", 100_000, 100_000, recognised);
    room.add(AdmissionFixture.claim("a"), "m", 100, 100, new Request("of no program", 100));
    admitOne(room);
    assertThat(went).containsExactly("of no program");
  }

  @Test
  void programsThatWaitForRoom_areNoLine_andSayNothingOfHowFastItGoes() {
    WaitingRoom room = room(bounds(Duration.ofSeconds(90), 1_000, 1_000, 1L << 30));
    Request held = new Request("held", 100_000);
    held.programHeld = true;
    room.add(AdmissionFixture.claim("b"), "m", 100_000, 100_000, held);
    assertThat(room.hasNoLine()).as("it has not been tried").isFalse();
    room.admit();
    assertThat(room.hasNoLine()).isTrue();
    assertThat(room.isEmpty()).isFalse();
    clock.advance(Duration.ofSeconds(60));
    room.add(AdmissionFixture.claim("a"), "m", 1_000, 1_000, new Request("first", 1_000));
    assertThat(room.hasNoLine()).isFalse();
    admitOne(room);
    assertThat(room.hasNoLine()).isTrue();
    room.add(AdmissionFixture.claim("a"), "m", 10_000, 10_000, new Request("second", 10_000));
    Request third = new Request("third", 1_000);
    room.add(AdmissionFixture.claim("a"), "m", 1_000, 1_000, third);
    assertThat(third.refusal).as("nobody was in line for a minute").isNull();
  }

  @Test
  void programThatWaitsForRoom_isRefusedAfterTheLongestWait_asOthersAre() {
    WaitingRoom room = room(bounds(Duration.ofSeconds(60), 10, 10, 10_000));
    Request held = new Request("held", 10);
    held.programHeld = true;
    room.add(AdmissionFixture.claim("a"), "m", 10, 0, held);
    for (int second = 0; second < 60; second++) {
      room.admit();
      assertThat(held.refusal).isNull();
      clock.advance(Duration.ofSeconds(1));
    }
    room.admit();
    assertThat(held.refusal)
        .isNotNull()
        .returns(RefusalReason.TIMEOUT, AdmissionRefusal::reason)
        .returns("admission.classes.default.longest-wait", AdmissionRefusal::knob)
        .returns(60_000L, AdmissionRefusal::measured)
        .returns(60_000L, AdmissionRefusal::limit);
    assertThat(room.isEmpty()).isTrue();
  }

  @Test
  void programsThatWaitForRoom_areTriedNowAndThen() {
    WaitingRoom room = room(UnaryOperator.identity());
    Request held = new Request("held", 100);
    held.programHeld = true;
    room.add(AdmissionFixture.claim("a"), "m", 100, 100, held);
    for (int round = 0; round < 100; round++) {
      room.admit();
      clock.advance(Duration.ofMillis(10));
    }
    assertThat(held.attempts).isEqualTo(5);
    held.programHeld = false;
    clock.advance(Duration.ofMillis(200));
    admitOne(room);
    assertThat(went).containsExactly("held");
  }

  private void admitOne(WaitingRoom room) {
    freeWorkers = 1;
    room.admit();
    assertThat(freeWorkers).isZero();
  }

  @Test
  void lightTenant_hardlyNoticesAHeavyOne() {
    WaitingRoom room = room(UnaryOperator.identity());
    for (int i = 0; i < 5_000; i++) {
      room.add(AdmissionFixture.claim("heavy"), "m", 100, 100, new Request("heavy", 100));
    }
    for (int i = 0; i < 500; i++) {
      room.add(AdmissionFixture.claim("light"), "m", 100, 100, new Request("light", 100));
      int before = went.size();
      do {
        clock.advance(Duration.ofMillis(100));
        admitOne(room);
      } while (!went.getLast().equals("light"));
      assertThat(went.size() - before).as("one of the other's at most goes before it").isLessThanOrEqualTo(2);
      for (int pause = 0; pause < 4; pause++) {
        admitOne(room);
      }
    }
  }

  @Test
  void close_dismissesEverybody() {
    WaitingRoom room = room(UnaryOperator.identity());
    Request waiting = new Request("waits", 10);
    room.add(AdmissionFixture.claim("a"), "m", 10, 0, waiting);
    room.close();
    assertThat(waiting.dismissed).isTrue();
    assertThat(room.isEmpty()).isTrue();
    Request late = new Request("late", 10);
    assertThat(room.add(AdmissionFixture.claim("a"), "m", 10, 0, late)).isNull();
    assertThat(late.dismissed).isTrue();
  }

  @Test
  void backlog_isByModel() {
    WaitingRoom room = room(UnaryOperator.identity());
    assertThat(room.backlog()).isEmpty();
    room.add(AdmissionFixture.claim("a"), "small", 100, 40, new Request("first", 100));
    clock.advance(Duration.ofSeconds(3));
    room.add(AdmissionFixture.claim(ServiceClass.BULK, "b", "p"), "small", 200, 200, new Request("second", 200));
    Request held = new Request("held", 300);
    held.programHeld = true;
    room.add(AdmissionFixture.claim("c"), "large", 300, 300, held);
    room.admit();
    assertThat(room.backlog())
        .containsExactly(
            new ModelBacklog("large", 1, 300, 0, 300, 0), new ModelBacklog("small", 2, 300, 240, 0, 3000));
  }
}
