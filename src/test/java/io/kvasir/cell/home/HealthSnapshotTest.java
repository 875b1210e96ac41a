package io.kvasir.cell.home;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestSettings;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.WorkerHealth;
import io.kvasir.events.EventFeed;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Candidates;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A decision's columns against each worker asked by itself. */
@Tag("lock-free")
final class HealthSnapshotTest {
  private static final int PODS = 70;

  private final AtomicLong now = new AtomicLong(1_000_000_000L);
  private final Members members = members();
  private final Candidates candidates = new Candidates(128);

  private Members members() {
    CellSettings.IndexSettings wide =
        new CellSettings.IndexSettings(128, TestSettings.CELL.index().maxWorkers(), 1 << 26);
    return new Members(
        "m",
        TestServices.deciding("expected-cost").settings(TestSettings.with(wide)).clock(now::get).build());
  }

  private void admit(int pod) {
    PodSpec spec =
        TestPods.pod("w" + pod)
            .ranks(1 + pod % 2)
            .maxInFlight(16)
            .events(List.of(new EventFeed.Push("")))
            .build();
    members.admit(new PodEntry(spec, PodSource.CONFIG));
  }

  private void assertTheSame() {
    members.view().fleet().snapshot(candidates);
    Member[] seated = members.view().members();
    for (int slot = 0; slot < seated.length; slot++) {
      Member member = seated[slot];
      boolean chosen = member != null && mayBeChosen(member);
      assertThat(candidates.has(slot)).as("slot %d", slot).isEqualTo(chosen);
      if (chosen) {
        assertThat(candidates.workers[slot]).isEqualTo(member.worker());
        assertThat(candidates.waiting[slot]).isEqualTo(member.report().waiting());
        assertThat(candidates.kvUse[slot]).isEqualTo(member.report().kvUse());
        assertThat(candidates.inFlight[slot]).isEqualTo(member.load().inFlight());
        assertThat(candidates.pendingTokens[slot]).isEqualTo(member.load().pendingTokens());
        assertThat(candidates.queueMs[slot]).isEqualTo(member.load().queueMs());
        assertThat(candidates.contextTokens[slot]).isEqualTo(member.load().contextTokens());
      }
    }
  }

  /** Whether it permits requests, or less than a third of those that could do the same do. */
  private boolean mayBeChosen(Member member) {
    List<Member> able = members.all().stream()
        .filter(Member::isHealthy)
        .filter(other -> other.serves(member) || other.worker().pod().equals(member.worker().pod()))
        .toList();
    long permitted = able.stream().filter(Member::isRoutable).count();
    return member.isRoutable() || (member.isHealthy() && (permitted == 0 || 3 * permitted < able.size()));
  }

  private void change(Member member, SplittableRandom random) {
    WorkerHealth health = member.health();
    long at = now.get();
    switch (random.nextInt(9)) {
      case 0 -> health.reachability().onConnectionLost(at, "test");
      case 1 -> health.reachability().onStreamLost(at);
      case 2 -> health.onSuccess(at);
      case 3 -> {
        for (int i = random.nextInt(12); i > 0; i--) {
          health.onFailure(at, "errors");
        }
      }
      case 4 -> health.reachability().onProbe(random.nextBoolean(), at);
      case 5 -> member.drain(random.nextInt(4) == 0);
      case 6 -> member.report(
          random.nextBoolean() ? EngineReport.NONE : new EngineReport(1, random.nextInt(3), random.nextDouble()));
      case 7 -> {
        Booking booking = new Booking(100, 50, 1000);
        if (member.load().book(booking)) {
          health.stallDetector().streamStarted();
          health.stallDetector().check(at, member.load().inFlight(), 0);
        }
      }
      default -> health.stallDetector().check(at, member.load().inFlight(), 0);
    }
  }

  @Test
  void whateverChanges_theNextDecisionSeesIt() {
    for (int pod = 0; pod < PODS; pod++) {
      admit(pod);
    }
    members.all().forEach(member -> member.health().reachability().onSuccess());
    assertTheSame();
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 1000; i++) {
      List<Member> all = members.all();
      Member member = all.get(random.nextInt(all.size()));
      if (random.nextInt(50) == 0) {
        Members.Retired retired = members.retire(member);
        assertTheSame();
        Members.sweep(List.of(retired));
        members.free(retired.slot());
        admit(random.nextInt(PODS));
      } else {
        change(member, random);
      }
      assertTheSame();
      now.addAndGet(TimeUnit.MILLISECONDS.toNanos(random.nextInt(1000)));
      assertTheSame();
    }
  }

  @Test
  void ofChangesAtTheSameTime_noneIsLost() throws Exception {
    for (int pod = 0; pod < PODS; pod++) {
      admit(pod);
    }
    List<Member> all = members.all();
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      for (int round = 0; round < 50; round++) {
        int seed = round;
        List<Future<?>> changes =
            List.of(
                threads.submit(() -> changeSome(all, new SplittableRandom(4L * seed))),
                threads.submit(() -> changeSome(all, new SplittableRandom(4L * seed + 1))),
                threads.submit(() -> changeSome(all, new SplittableRandom(4L * seed + 2))));
        while (!changes.stream().allMatch(Future::isDone)) {
          members.view().fleet().snapshot(candidates);
        }
        for (Future<?> change : changes) {
          change.get();
        }
        assertTheSame();
      }
    }
  }

  private void changeSome(List<Member> all, SplittableRandom random) {
    for (int i = 0; i < 30; i++) {
      Member member = all.get(random.nextInt(all.size()));
      synchronized (member) { // the cell's actor makes some of these changes, one after the other
        change(member, random);
      }
    }
  }
}
