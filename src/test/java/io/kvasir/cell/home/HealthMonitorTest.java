package io.kvasir.cell.home;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.EngineReport;
import io.kvasir.cell.HealthProbe;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.StallDetector;
import io.kvasir.cell.worker.WorkerHealth;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Worker;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** When the pods of a large cell are probed and polled; time is counted in ticks, and answers come at once. */
final class HealthMonitorTest {
  private static final int PODS = 60;
  private static final int TICKS_PER_SECOND = 4;
  private static final int PROBE_INTERVAL_TICKS = 5 * TICKS_PER_SECOND;
  private static final long TICK_NANOS = 1_000_000_000L / TICKS_PER_SECOND;

  private final Map<URI, List<Integer>> probes = new HashMap<>();
  private final Map<URI, Throwable> unreachable = new HashMap<>();
  private final Map<URI, CompletableFuture<Boolean>> late = new HashMap<>();
  private final List<String> gone = new ArrayList<>();
  private final List<CompletableFuture<Boolean>> canaries = new ArrayList<>();
  private final Members members = new Members("m", services());
  private final HealthMonitor monitor =
      new HealthMonitor(
          members, services(), Runnable::run, member -> gone.add(member.worker().id()),
          LoggerFactory.getLogger(HealthMonitorTest.class));
  private int tick;
  private int polls;

  private CellServices services() {
    return TestServices.deciding("prefix-aware").clock(() -> tick * TICK_NANOS).probe(new HealthProbe() {
      @Override
      public CompletionStage<Boolean> probe(URI pod) {
        probes.computeIfAbsent(pod, _ -> new ArrayList<>()).add(tick);
        CompletableFuture<Boolean> slow = late.get(pod);
        Throwable why = unreachable.get(pod);
        return slow != null ? slow : why == null
            ? CompletableFuture.completedFuture(true)
            : CompletableFuture.failedFuture(new CompletionException("no connection", why));
      }

      @Override
      public CompletionStage<Map<Integer, EngineReport>> reports(URI pod) {
        polls++;
        return CompletableFuture.completedFuture(Map.of(0, new EngineReport(0, 0, 0)));
      }

      @Override
      public CompletionStage<Boolean> canary(Worker worker) {
        assertThat(worker.id()).isEqualTo("p0");
        CompletableFuture<Boolean> answer = new CompletableFuture<>();
        canaries.add(answer);
        return answer;
      }
    }).build();
  }

  @BeforeEach
  void admit() {
    for (int i = 0; i < PODS; i++) {
      members.admit(new PodEntry(TestPods.pod("p" + i).build(), PodSource.CONFIG));
    }
  }

  private void run(int ticks) {
    for (int i = 0; i < ticks; i++) {
      tick++;
      monitor.check(tick * TICK_NANOS);
    }
  }

  @Test
  void podsThatCameTogether_areProbedAtDifferentTimes_andNoneLaterThanTheInterval() {
    run(1 + 4 * PROBE_INTERVAL_TICKS);

    assertThat(probes).hasSize(PODS);
    Map<Integer, Integer> byTick = new HashMap<>();
    for (List<Integer> ofPod : probes.values()) {
      assertThat(ofPod.getFirst()).isEqualTo(1);
      for (int i = 1; i < ofPod.size(); i++) {
        assertThat(ofPod.get(i) - ofPod.get(i - 1)).isLessThanOrEqualTo(PROBE_INTERVAL_TICKS);
        byTick.merge(ofPod.get(i), 1, Integer::sum);
      }
      assertThat(ofPod.getLast()).isGreaterThan(tick - PROBE_INTERVAL_TICKS);
    }
    assertThat(byTick.values()).allMatch(probed -> probed <= PODS / 2);
  }

  @Test
  void processThatIsGone_isToldOnceUntilItIsBack_aConnectionThatIsCutIsNot() {
    run(1 + PROBE_INTERVAL_TICKS);
    URI first = members.all().getFirst().worker().url();
    unreachable.put(first, new IOException("refused", new ConnectException()));
    unreachable.put(members.all().get(1).worker().url(), new IOException("reset"));
    run(2 * PROBE_INTERVAL_TICKS);
    assertThat(gone).containsExactly("p0");

    unreachable.clear();
    run(PROBE_INTERVAL_TICKS);
    unreachable.put(first, new IOException("refused", new ConnectException()));
    run(2 * PROBE_INTERVAL_TICKS);
    assertThat(gone).containsExactly("p0", "p0");
  }

  @Test
  void probeThatIsAnsweredAfterItsPodHasLeft_saysNothingOfTheNextOfThatName() {
    Member member = members.all().getFirst();
    URI first = member.worker().url();
    CompletableFuture<Boolean> probe = new CompletableFuture<>();
    late.put(first, probe);
    run(1);
    members.retire(member);
    monitor.memberRemoved(member);
    probe.completeExceptionally(new IOException("refused", new ConnectException()));
    late.clear();
    unreachable.put(first, new IOException("refused", new ConnectException()));
    members.admit(new PodEntry(TestPods.pod("p0").build(), PodSource.CONFIG));
    run(1);
    assertThat(probes.get(first)).as("it is not put off").hasSize(2);
    assertThat(gone).containsExactly("p0");
  }

  @Test
  void processThatIsGone_takesItsErrorsWithIt() {
    run(1);
    Member member = members.all().getFirst();
    WorkerHealth health = member.health();
    StallDetector stall = health.stallDetector();
    stall.streamStarted();
    stall.check(Duration.ofMinutes(1).toNanos(), 1, 0);
    stall.streamEnded();
    assertThat(member.isHealthy()).as("it stands still").isFalse();
    for (int i = 0; i < 20; i++) {
      health.onFailure(1, "errors");
      health.handOvers().onFailure("no blocks");
    }
    unreachable.put(member.worker().url(), new IOException("reset"));
    run(PROBE_INTERVAL_TICKS);
    assertThat(health.breaker().isClosed()).as("it may live").isFalse();
    assertThat(health.handOvers().isClosed()).isFalse();

    unreachable.put(member.worker().url(), new IOException("refused", new ConnectException()));
    run(PROBE_INTERVAL_TICKS);
    unreachable.clear();
    run(PROBE_INTERVAL_TICKS);

    assertThat(member.isHealthy()).isTrue();
    assertThat(health.answerFault()).isNull();
  }

  @Test
  void oneThatStandsStill_hasOneCanary_andGetsRequestsOnceThatIsAnswered() {
    run(1);
    Member member = standStill();
    run(60 * 60 * TICKS_PER_SECOND);
    assertThat(canaries).hasSize(1);
    assertThat(member.isHealthy()).isFalse();

    canaries.getFirst().complete(true);
    run(1);
    assertThat(member.isHealthy()).isTrue();
    assertThat(standStill().isHealthy()).isFalse();
    assertThat(canaries).as("of the next time").hasSize(2);
  }

  @Test
  void canaryThatWasLost_isSentAgain_butNoneToWhatCannotBeReached() {
    run(1);
    Member member = standStill();
    run(60 * TICKS_PER_SECOND);
    canaries.getFirst().completeExceptionally(new IOException("late"));
    run(1);
    assertThat(canaries).hasSize(2);
    canaries.getLast().completeExceptionally(new IOException("reset"));
    run(PROBE_INTERVAL_TICKS - 2);
    assertThat(canaries).as("too soon").hasSize(2);
    run(2);
    assertThat(canaries).hasSize(3);

    unreachable.put(member.worker().url(), new IOException("reset"));
    run(PROBE_INTERVAL_TICKS);
    canaries.getLast().completeExceptionally(new IOException("reset"));
    run(120 * TICKS_PER_SECOND);
    assertThat(canaries).hasSize(3);
  }

  @Test
  void canaryThatIsRefused_isNotSentAgain_aClientsRequestIsTried() {
    run(1);
    Member member = standStill();
    canaries.getFirst().complete(false);
    run(28 * TICKS_PER_SECOND);
    assertThat(member.isHealthy()).isFalse();
    run(4 * TICKS_PER_SECOND);
    assertThat(member.isHealthy()).as("for one request").isTrue();
    assertThat(canaries).hasSize(1);
  }

  /** The first of the members, which nothing comes of any more and which has no request left. */
  private Member standStill() {
    Member member = members.all().getFirst();
    StallDetector stall = member.health().stallDetector();
    stall.streamStarted();
    Booking booking = new Booking(100, 100, 1);
    member.load().add(booking);
    run(4 * TICKS_PER_SECOND);
    stall.streamEnded();
    member.load().release(booking);
    return member;
  }

  @Test
  void reports_arePolledEachIntervalWhileThereIsSomethingToDo_andSeldomOtherwise() {
    int seconds = 60;
    run(10 * TICKS_PER_SECOND);
    int begun = polls;
    run(seconds * TICKS_PER_SECOND);
    assertThat(polls - begun).isBetween(PODS * seconds / 20, PODS * seconds / 12);
    assertThat(members.all()).extracting(Member::report).containsOnly(new EngineReport(0, 0, 0));

    begun = polls;
    for (int i = 0; i < seconds * TICKS_PER_SECOND; i++) {
      members.all().getFirst().progressed();
      run(1);
    }
    assertThat(polls - begun).isBetween(PODS * seconds * 3 / 4, PODS * seconds * 11 / 10);
  }
}
