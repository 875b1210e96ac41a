package io.kvasir.cell.home;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.HitOutcome;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestSettings;
import io.kvasir.cell.view.CellViews;
import io.kvasir.cell.worker.HitPrediction;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.MemberDescription;
import io.kvasir.cell.worker.ServedRequest;
import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Role;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.ManualClock;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Which error answers keep requests from a worker: those that are its own failures, while others can serve. */
final class ErrorAnswersTest {
  private static final Outcome ERROR = new Outcome.Failed(false, "status 500");
  private static final Outcome UNKNOWN = new Outcome.UnknownModel(404, "m");
  private static final Outcome ANSWER = new Outcome.Completed(1, 0, 1, 1);
  private static final int THRESHOLD = TestSettings.CELL.health().breakerFailures();

  private final ManualClock clock = new ManualClock();
  private final Members members =
      new Members("m", TestServices.deciding("expected-cost").clock(clock).build());
  private int requests;

  @Test
  void errorsOfTheOnlyWorker_keepNothingFromIt() {
    Member only = admit("a");
    for (int i = 0; i < 10 * THRESHOLD; i++) {
      ended("r" + i, only, ERROR);
    }
    clock.advance(Duration.ofMinutes(1));
    ended("last", only, ERROR);

    assertThat(chosen()).containsExactly("a");
    assertThat(only.health().breaker().isClosed()).isTrue();
  }

  @Test
  void errorsThatOtherWorkersRepeat_areTheRequests() {
    List<Member> all = Stream.of("a", "b", "c").map(this::admit).toList();
    for (int i = 0; i < 10 * THRESHOLD; i++) {
      for (Member member : all) {
        ended("r" + i, member, ERROR);
      }
    }
    clock.advance(Duration.ofMinutes(1));
    ended("last", all.getFirst(), ERROR);

    assertThat(chosen()).containsExactly("a", "b", "c");
  }

  @Test
  void errorsThatAnotherWorkerMakesGood_areTheWorkers() {
    Member broken = admit("a");
    Member well = admit("b");
    for (int i = 0; i < THRESHOLD; i++) {
      assertThat(chosen()).containsExactly("a", "b");
      ended("r" + i, broken, ERROR);
      ended("r" + i, well, ANSWER);
    }

    assertThat(chosen()).containsExactly("b");
  }

  @Test
  void errorsThatNobodyElseCouldMakeGood_countAfterAWhile() {
    Member broken = admit("a");
    admit("b");
    for (int i = 0; i < THRESHOLD; i++) {
      ended("r" + i, broken, ERROR);
    }
    assertThat(chosen()).containsExactly("a", "b");
    clock.advance(Duration.ofSeconds(10));
    ended("last", broken, ERROR);

    assertThat(chosen()).containsExactly("b");
  }

  @Test
  void errorsBeforeAGoodAnswer_doNotCount() {
    Member failing = admit("a");
    admit("b");
    for (int i = 0; i < THRESHOLD; i++) {
      ended("r" + i, failing, ERROR);
    }
    clock.advance(Duration.ofSeconds(1));
    ended("other", failing, ANSWER);
    clock.advance(Duration.ofSeconds(10));
    ended("last", failing, ERROR);

    assertThat(chosen()).containsExactly("a", "b");
  }

  @Test
  void errorsAtAHandOver_countWhereAnotherWorkerReceivesFromTheSame() {
    Member prefiller = admit("p");
    Member broken = admit("a");
    Member well = admit("b");
    for (int i = 0; i < THRESHOLD; i++) {
      ended("r" + i, broken, prefiller, ERROR);
      ended("r" + i, well, prefiller, ANSWER);
    }

    assertThat(chosen()).containsExactly("p", "b");
  }

  @Test
  void errorsAtAHandOver_doNotCountWhereNobodyElseReceivesFromTheSame() {
    Member died = admit("p");
    Member other = admit("q");
    Member receiver = admit("a");
    Member well = admit("b");
    for (int i = 0; i < 10 * THRESHOLD; i++) {
      ended("r" + i, receiver, died, ERROR);
      ended("r" + i, well, i % 2 == 0 ? null : other, ANSWER);
    }

    assertThat(chosen()).containsExactly("p", "q", "a", "b");
  }

  @Test
  void errorsAtAHandOver_thatNobodyMadeGood_countOnlyWhileThePrefillerIsWell() {
    Member died = admit("p");
    Member well = admit("q");
    Member receiver = admit("a");
    Member broken = admit("b");
    admit("c");
    for (int i = 0; i < THRESHOLD; i++) {
      ended("r" + i, receiver, died, ERROR);
      ended("s" + i, broken, well, ERROR);
    }
    died.health().reachability().onConnectionLost(clock.nanos(), "test");
    clock.advance(Duration.ofSeconds(10));
    ended("last", receiver, died, ERROR);

    assertThat(chosen()).containsExactly("q", "a", "c");
  }

  @Test
  void workersThatDoNotServeTheirModel_areOutAlthoughOthersRepeatIt_andSayWhy() {
    List<Member> broken = Stream.of("a", "b").map(this::admit).toList();
    Member well = admit("c");
    for (int i = 0; i < THRESHOLD; i++) {
      for (Member member : broken) {
        ended("r" + i, member, UNKNOWN);
      }
    }

    assertThat(chosen()).containsExactly("c");
    assertThat(MemberDescription.of(broken.getFirst(), "m", null, 0, 0).reason())
        .isEqualTo("its circuit is open after a run of answers that it does not serve 'm' and enough others are left");
    assertThat(views().problems()).extracting(Problem::what).containsExactly(
        "worker a: it answers that it does not serve the model 'm' (status 404)",
        "worker b: it answers that it does not serve the model 'm' (status 404)");

    clock.advance(Duration.ofMinutes(1));
    for (int i = 0; i < TestSettings.CELL.health().breakerSuccesses(); i++) {
      broken.forEach(member -> ended("later", member, ANSWER));
    }

    assertThat(chosen()).containsExactly("a", "b", "c");
    assertThat(views().problems()).isEmpty();
    assertThat(MemberDescription.of(well, "m", null, 0, 0).reason()).isEmpty();
  }

  @Test
  void idleWorkerThatIsUnavailable_isOut_aBusyOneIsNot() {
    Member idle = admit("a");
    Member busy = admit("b");
    Member well = admit("c");
    admit("d");
    busy.load().add(new Booking(1, 1, 1));
    for (int i = 0; i < THRESHOLD; i++) {
      for (Member member : List.of(idle, busy)) {
        ended(member.worker().id() + i, member, new Outcome.Refused(503));
        ended(member.worker().id() + i, well, ANSWER);
      }
    }

    assertThat(chosen()).containsExactly("b", "c", "d");
  }

  @Test
  void idleWorkerThatLimitsRequests_stays() {
    Member limited = admit("a");
    Member well = admit("b");
    for (int i = 0; i < THRESHOLD; i++) {
      ended("r" + i, limited, new Outcome.Refused(429));
      ended("r" + i, well, ANSWER);
    }

    assertThat(chosen()).containsExactly("a", "b");
  }

  @Test
  void onlyWorkerThatDoesNotServeItsModel_stays_andSaysSo() {
    Member only = admit("a");
    for (int i = 0; i < 3 * THRESHOLD; i++) {
      ended("r" + i, only, UNKNOWN);
    }

    assertThat(chosen()).containsExactly("a");
    assertThat(MemberDescription.of(only, "m", null, 0, 0).reason())
        .isEqualTo("it answers that it does not serve the model 'm' (status 404)");
    assertThat(views().problems()).hasSize(1);
  }

  @Test
  void manyFaultyWorkers_areToldInFewWords() {
    for (int i = 0; i < 12; i++) {
      ended("r", admit("w" + i), UNKNOWN);
    }

    assertThat(views().problems()).hasSize(11)
        .extracting(Problem::what).last().isEqualTo("2 more workers do not answer as they should");
  }

  @Test
  void errorsOfOneWorkerUnderOneId_areSeveral() {
    Member broken = admit("a");
    Member well = admit("b");
    for (int i = 0; i < THRESHOLD; i++) {
      ended("same", broken, ERROR);
    }
    ended("same", well, ANSWER);

    assertThat(chosen()).containsExactly("b");
  }

  @Test
  void prefillsAnswer_makesNoDecodeErrorGood() {
    Member prefill = admit(TestPods.pod("p").role(Role.PREFILL).kvTransfer(transfer()));
    Member failing = admit(TestPods.pod("d").role(Role.DECODE).kvTransfer(transfer()));
    Member other = admit(TestPods.pod("e").role(Role.DECODE).kvTransfer(transfer()));
    for (int i = 0; i < THRESHOLD; i++) {
      ended("r" + i, failing, ERROR);
      ended("r" + i, prefill, ANSWER);
      ended("r" + i, other, ERROR);
    }

    assertThat(chosen()).containsExactlyInAnyOrder("p", "d", "e");
  }

  @Test
  void errorsOfAPrefill_areMadeGoodByAnotherPrefill() {
    Member failing = admit(TestPods.pod("p").role(Role.PREFILL).kvTransfer(transfer()));
    Member other = admit(TestPods.pod("q").role(Role.PREFILL).kvTransfer(transfer()));
    for (int i = 0; i < THRESHOLD; i++) {
      ended(new ServedRequest("r" + i, "m", false, null), failing, ERROR);
      ended(new ServedRequest("r" + i, "m", false, null), other, ANSWER);
    }

    assertThat(chosen()).containsExactly("q");
  }

  @Test
  void anotherWorkersPrefill_makesNoFailedHandOverGood() {
    Member failing = admit("p");
    Member receiver = admit("a");
    Member other = admit("q");
    for (int i = 0; i < 10 * THRESHOLD; i++) {
      ended("r" + i, receiver, failing, ERROR);
      ended(new ServedRequest("r" + i, "m", false, null), other, ANSWER);
      ended("r" + i, receiver, ERROR);
    }

    assertThat(notHandingOver()).isEmpty();
    assertThat(chosen()).containsExactly("p", "a", "q");
  }

  @Test
  void promptsThatNobodyReceives_areTheWorkersThatComputedThem_untilOneIsReceived() {
    Member prefiller = admit("p");
    Member receiver = admit("a");
    Member other = admit("b");
    for (int i = 0; i < THRESHOLD; i++) {
      assertThat(notHandingOver()).isEmpty();
      ended("r" + i, receiver, prefiller, ERROR);
      if (i % 2 == 0) {
        ended("r" + i, other, prefiller, ERROR);
      }
      ended("r" + i, receiver, ANSWER);
    }

    assertThat(notHandingOver()).containsExactly("p");
    assertThat(chosen()).containsExactly("p", "a", "b");
    String fault = "other workers cannot receive the KV blocks that it computes (status 500 of worker a), and compute"
        + " prompts themselves";
    assertThat(MemberDescription.of(prefiller, "m", null, 0, 0).reason()).isEqualTo(fault);
    assertThat(views().problems()).extracting(Problem::what).containsExactly("worker p: " + fault);

    clock.advance(TestSettings.CELL.health().breakerOpen());
    assertThat(notHandingOver()).isEmpty();
    ended("later", receiver, prefiller, ERROR);
    ended("later", receiver, ANSWER);
    assertThat(notHandingOver()).containsExactly("p");

    clock.advance(TestSettings.CELL.health().breakerOpen());
    for (int i = 0; i < TestSettings.CELL.health().breakerSuccesses(); i++) {
      ended("later", receiver, prefiller, ANSWER);
    }
    assertThat(views().problems()).isEmpty();
  }

  @Test
  void promptThatIsReceived_endsARunOfThoseThatAreNot() {
    Member prefiller = admit("p");
    Member receiver = admit("a");
    Member other = admit("b");
    for (int i = 0; i < 10 * THRESHOLD; i++) {
      ended("r" + i, receiver, prefiller, ERROR);
      ended("r" + i, receiver, ANSWER);
      if (i % (THRESHOLD - 1) == 0) {
        ended("s" + i, other, prefiller, ANSWER);
      }
    }

    assertThat(notHandingOver()).isEmpty();
  }

  @Test
  void errorsThatNobodyMakesGood_areNoHandOvers() {
    Member prefiller = admit("p");
    Member receiver = admit("a");
    Member other = admit("b");
    for (int i = 0; i < 10 * THRESHOLD; i++) {
      ended("r" + i, receiver, prefiller, ERROR);
      ended("r" + i, other, prefiller, ERROR);
      ended("r" + i, receiver, ERROR);
    }

    assertThat(notHandingOver()).isEmpty();
  }

  @Test
  void promptsOfAWorkerThatIsGone_areNoFailedHandOvers() {
    Member prefiller = admit("p");
    Member receiver = admit("a");
    admit("b");
    prefiller.health().reachability().onConnectionLost(clock.nanos(), "test");
    for (int i = 0; i < 10 * THRESHOLD; i++) {
      ended("r" + i, receiver, prefiller, ERROR);
      ended("r" + i, receiver, ANSWER);
    }
    prefiller.health().reachability().onSuccess();

    assertThat(notHandingOver()).isEmpty();
    assertThat(chosen()).containsExactly("p", "a", "b");
  }

  @Test
  void aThirdOfTheWorkers_staysWhateverTheyAnswer() {
    List<Member> all = Stream.of("a", "b", "c", "d", "e", "f").map(this::admit).toList();
    for (Member broken : all) {
      for (int i = 0; i < THRESHOLD; i++) {
        ended(broken.worker().id() + i, broken, ERROR);
      }
      clock.advance(Duration.ofSeconds(10));
      ended("settles" + ++requests, broken, new Outcome.Failed(false, ""));
    }

    assertThat(chosen()).containsExactly("e", "f");
  }

  @Test
  void theLastThirdIsLost_theOthersServeAgain() {
    Member well = admit("a");
    for (String id : List.of("b", "c")) {
      Member broken = admit(id);
      for (int i = 0; i < THRESHOLD; i++) {
        ended(id + i, broken, ERROR);
        ended(id + i, well, ANSWER);
      }
    }
    assertThat(chosen()).containsExactly("a");
    assertThat(members.view().pressure().capacity()).isEqualTo(well.worker().maxInFlight());

    well.health().reachability().onConnectionLost(clock.nanos(), "test");

    assertThat(chosen()).containsExactly("b", "c");
    assertThat(members.view().pressure().capacity()).isEqualTo(2 * well.worker().maxInFlight());
  }

  private Member admit(String id) {
    return admit(TestPods.pod(id));
  }

  private Member admit(TestPods.Builder pod) {
    return TestCell.admit(members, pod.build()).getFirst();
  }

  private void ended(String request, Member member, Outcome outcome) {
    ended(request, member, null, outcome);
  }

  private static void ended(String request, Member member, @Nullable Member prefiller, Outcome outcome) {
    ended(served(request, prefiller), member, outcome);
  }

  private static void ended(ServedRequest request, Member member, Outcome outcome) {
    HitOutcome _ = member.requestEnded(request, outcome, 1, HitPrediction.none(Chain.EMPTY));
  }

  private static ServedRequest served(String request, @Nullable Member prefiller) {
    return new ServedRequest(request, "m", true, prefiller == null ? null : prefiller.health());
  }

  private CellViews views() {
    CellViews views = new CellViews();
    views.publish("m", members.view());
    return views;
  }

  private List<String> chosen() {
    Candidates candidates = candidates();
    return members.all().stream()
        .filter(member -> candidates.has(member.worker().slot()))
        .map(member -> member.worker().id())
        .toList();
  }

  private List<String> notHandingOver() {
    long[] those = candidates().notHandingOver;
    return members.all().stream()
        .filter(member -> those != null && (those[0] & (1L << member.worker().slot())) != 0)
        .map(member -> member.worker().id())
        .toList();
  }

  private Candidates candidates() {
    Candidates candidates = new Candidates(members.view().members().length);
    members.view().fleet().snapshot(candidates);
    return candidates;
  }

  private static KvTransfer transfer() {
    return new KvTransfer(
        KvTransfer.Dialect.VLLM_NIXL, "", "h", 1, "e", 1, 1, new KvTransfer.TransferCost(1, 1));
  }
}
