package io.kvasir.cell.home;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.CellSettings.ReportSettings;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.HitOutcome;
import io.kvasir.cell.LearntEngines;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestSettings;
import io.kvasir.cell.events.ChunkHints;
import io.kvasir.cell.worker.ChangeCounter;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.Reachability;
import io.kvasir.cell.worker.ServedRequest;
import io.kvasir.cell.worker.WorkerHealth;
import io.kvasir.index.BlockIndex;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import io.kvasir.routing.cost.PrefillSample;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** When pods are asked for their engines' figures, and how long these are believed. */
final class ReportScheduleTest {
  private static final long SECOND = 1_000_000_000L;
  private static final EngineReport BUSY = new EngineReport(10, 20, 0.5);

  private static final Member.RequestListener NOBODY =
      new Member.RequestListener() {
        @Override
        public void requestEnded(ServedRequest request, Member member, Outcome outcome) {}

        @Override
        public void promptRead() {}

        @Override
        public void prefillCompleted(Member member, PrefillSample prefill) {}

        @Override
        public void cacheHitsReported(Member member, int promised, int found, HitOutcome promise) {}

        @Override
        public void pulled(Member member, int expected, int found) {}

        @Override
        public void hintsReported(Member member, ChunkHints.Findings findings) {}
      };

  private final BlockIndex index = new BlockIndex(256, 1 << 26);
  private final List<Member> members = new ArrayList<>();
  private final ReportSchedule reports =
      new ReportSchedule(new ReportSettings(true, Duration.ofSeconds(1), Duration.ofSeconds(5)));

  private void pod(String name, int ranks) {
    PodSpec spec =
        TestPods.pod(name).ranks(ranks).maxInFlight(8).engine("e").capacityBlocks(100).build();
    Reachability contact = new Reachability(Duration.ofSeconds(60), new ChangeCounter());
    for (int rank = 0; rank < ranks; rank++) {
      int slot = members.size();
      Worker worker =
          new Worker(
              name + "#" + rank, name, spec.url(), rank, ranks, slot, Role.BOTH, Set.of("m"), Map.of(), 8, "e", null);
      members.add(
          new Member(
              worker,
              spec,
              new WorkerHealth(TestSettings.CELL.health(), contact, () -> 0, new ChangeCounter()),
              index.open(slot, 100),
              TestSettings.CELL,
              new LearntEngines(),
              () -> 0,
              new ChangeCounter(),
              NOBODY));
    }
  }

  private List<String> ask(long now) {
    return ask(now, false);
  }

  private List<String> ask(long now, boolean quiet) {
    return reports.due(members, now, quiet).stream().map(member -> member.worker().pod()).toList();
  }

  @Test
  void everyPodIsAskedOnceAnInterval_spreadOverIt() {
    for (int i = 0; i < 100; i++) {
      pod("p" + i, 1);
    }
    Set<String> asked = new HashSet<>();
    int most = 0;
    for (long now = 0; now <= SECOND; now += SECOND / 20) {
      List<String> due = ask(now);
      most = Math.max(most, due.size());
      for (String pod : due) {
        assertThat(asked.add(pod) || now >= SECOND * 9 / 10).as("asked twice within an interval").isTrue();
        assertThat(reports.onReports(pod, Map.of(0, BUSY), members, now)).isTrue();
      }
    }
    assertThat(asked).hasSize(100);
    assertThat(most).isLessThanOrEqualTo(16);
  }

  @Test
  void atMostSixteenAreAskedAtOnce() {
    for (int i = 0; i < 40; i++) {
      pod("p" + i, 1);
    }
    ask(0);
    List<String> first = ask(SECOND);
    assertThat(first).hasSizeLessThanOrEqualTo(16);
    assertThat(ask(2 * SECOND)).hasSize(16 - first.size());
    assertThat(ask(3 * SECOND)).isEmpty();
    reports.onReports(first.getFirst(), null, members, 3 * SECOND);
    assertThat(ask(3 * SECOND)).hasSize(1);
  }

  @Test
  void whoWaits_isAskedWhenAnAnswerComes_beforeTheNextTick() {
    for (int i = 0; i < 40; i++) {
      pod("p" + i, 1);
    }
    ask(0);
    Deque<String> inFlight = new ArrayDeque<>(ask(2 * SECOND));
    Set<String> asked = new HashSet<>(inFlight);
    while (!inFlight.isEmpty()) {
      reports.onReports(inFlight.remove(), Map.of(0, BUSY), members, 2 * SECOND);
      Member next = reports.next();
      if (next != null) {
        assertThat(asked.add(next.worker().pod())).as("asked twice").isTrue();
        inFlight.add(next.worker().pod());
      }
    }
    assertThat(asked).hasSize(40);
  }

  @Test
  void podThatLeaves_isNotAskedAnyMore() {
    for (int i = 0; i < 17; i++) {
      pod("p" + i, 1);
    }
    ask(0);
    List<String> first = ask(2 * SECOND);
    members.removeIf(member -> !first.contains(member.worker().pod()));
    assertThat(ask(2 * SECOND)).isEmpty();
    reports.onReports(first.getFirst(), Map.of(0, BUSY), members, 2 * SECOND);
    assertThat(reports.next()).isNull();
  }

  @Test
  void quietCell_isAskedSeldom_andNothingBecomesStale() {
    for (int i = 0; i < 64; i++) {
      pod("p" + i, 1);
    }
    int asked = 0;
    for (long now = 0; now < 90 * SECOND; now += SECOND / 4) {
      for (String pod : ask(now, true)) {
        asked++;
        reports.onReports(pod, Map.of(0, BUSY), members, now);
      }
      reports.expire(members, now, true);
      if (now >= 2 * SECOND) {
        assertThat(members).allMatch(member -> member.report().equals(BUSY));
      }
    }
    assertThat(asked).isBetween(64 * 90 / 20, 64 * 90 / 12);
  }

  @Test
  void quietCell_forgetsWhatIsNotAnsweredAgain() {
    pod("p", 1);
    ask(0, true);
    assertThat(ask(2 * SECOND, true)).containsExactly("p");
    reports.onReports("p", Map.of(0, BUSY), members, 2 * SECOND);
    assertThat(ask(19 * SECOND, true)).containsExactly("p");
    reports.expire(members, 23 * SECOND, true);
    assertThat(members.getFirst().report()).isEqualTo(BUSY);
    reports.expire(members, 24 * SECOND, true);
    assertThat(members.getFirst().report()).isEqualTo(EngineReport.NONE);
  }

  @Test
  void requestsAgain_findWhatTheQuietCellKnew_untilItIsStale() {
    pod("p", 1);
    ask(0, true);
    ask(2 * SECOND, true);
    reports.onReports("p", Map.of(0, BUSY), members, 2 * SECOND);
    reports.expire(members, 16 * SECOND, true);
    reports.expire(members, 20 * SECOND, false);
    assertThat(members.getFirst().report()).isEqualTo(BUSY);
    reports.expire(members, 21 * SECOND, false);
    assertThat(members.getFirst().report()).isEqualTo(EngineReport.NONE);
  }

  @Test
  void requestsAgain_haveWhatIsOldAskedAtOnce() {
    pod("p", 1);
    ask(0);
    ask(4 * SECOND);
    reports.onReports("p", Map.of(0, BUSY), members, 4 * SECOND);
    assertThat(ask(6 * SECOND, true)).isEmpty();
    assertThat(ask(6 * SECOND)).containsExactly("p");
  }

  @Test
  void aPodWithoutFigures_isAskedLessAndLessOften() {
    pod("p", 1);
    int asked = 0;
    for (long now = 0; now < 600 * SECOND; now += SECOND / 4) {
      for (String pod : ask(now)) {
        asked++;
        assertThat(reports.onReports(pod, Map.of(), members, now)).isFalse();
      }
    }
    assertThat(asked).isBetween(8, 20);
    assertThat(members.getFirst().report()).isEqualTo(EngineReport.NONE);
  }

  @Test
  void ranks_haveTheirOwn_andTheOnlyOneHasAll() {
    pod("two", 2);
    pod("one", 1);
    ask(0);
    ask(2 * SECOND);
    Map<Integer, EngineReport> said = Map.of(0, BUSY, 1, new EngineReport(1, 2, 0.7));
    reports.onReports("two", said, members, 2 * SECOND);
    reports.onReports("one", said, members, 2 * SECOND);
    assertThat(members.get(0).report()).isEqualTo(BUSY);
    assertThat(members.get(1).report()).isEqualTo(new EngineReport(1, 2, 0.7));
    assertThat(members.get(2).report()).isEqualTo(new EngineReport(11, 22, 0.7));
  }

  @Test
  void whatIsOld_isUnknown() {
    pod("p", 1);
    ask(0);
    ask(2 * SECOND);
    reports.onReports("p", Map.of(0, BUSY), members, 2 * SECOND);
    reports.expire(members, 6 * SECOND, false);
    assertThat(members.getFirst().report()).isEqualTo(BUSY);
    reports.expire(members, 7 * SECOND, false);
    assertThat(members.getFirst().report()).isEqualTo(EngineReport.NONE);
  }

  @Test
  void off_asksNobody() {
    ReportSchedule off = new ReportSchedule(new ReportSettings(false, Duration.ofSeconds(1), Duration.ofSeconds(5)));
    pod("p", 1);
    assertThat(off.due(members, 10 * SECOND, false)).isEmpty();
  }
}
