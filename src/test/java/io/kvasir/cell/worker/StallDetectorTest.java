package io.kvasir.cell.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.EngineReport;
import io.kvasir.cell.TestSettings;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** When a worker counts as standing still; looked at four times a second, as a cell does. */
final class StallDetectorTest {
  private static final long MS = 1_000_000L;
  private static final long LOOK = 250 * MS;

  private final StallDetector progress = new StallDetector(TestSettings.WEDGE, 0, new ChangeCounter());
  private long now;
  private int inFlight;
  private double queueMs;
  private EngineReport last = EngineReport.NONE;

  private void book(double prefillMs) {
    inFlight++;
    queueMs += prefillMs;
    progress.streamStarted();
  }

  private void end() {
    inFlight--;
    progress.streamEnded();
  }

  private void report(double kvUse) {
    EngineReport before = last;
    last = new EngineReport(1, 0, kvUse);
    progress.reported(before, last, now);
  }

  /** Time passes; whether the worker is wedged at its end. */
  private boolean after(long millis) {
    for (long end = now + millis * MS; now < end; ) {
      now = Math.min(end, now + LOOK);
      progress.check(now, inFlight, queueMs);
    }
    return progress.wedged();
  }

  @Test
  void silent_withARequest_isWedgedAfterThreeSeconds() {
    after(10_000);
    book(10);
    assertThat(after(2_750)).isFalse();
    assertThat(after(500)).isTrue();
  }

  @Test
  void idle_isNeverWedged() {
    assertThat(after(3_600_000)).isFalse();
  }

  @Test
  void wholeAnswers_maySayNothingForLong() {
    inFlight = 50;
    assertThat(after(600_000)).isFalse();
  }

  @Test
  void moving_isNotWedged_howeverMuchWaits() {
    book(10);
    for (int i = 0; i < 100; i++) {
      book(10);
      progress.progressed(now);
      assertThat(after(2_900)).isFalse();
    }
  }

  @Test
  void standsStill_withoutGettingMore_isLeftInPeace() {
    book(10);
    after(500);
    progress.progressed(now);
    assertThat(after(60_000)).isFalse();
    book(10);
    assertThat(after(250)).as("it was given more, and still nothing comes").isTrue();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void standsStill_andSoDoesTheLoadThatItsEngineReports_isWedgedBeforeLong(boolean stream) {
    if (stream) {
      book(10);
    } else {
      inFlight++;
      progress.answerStarted();
    }
    after(500);
    report(.1);
    report(.2);
    assertThat(after(19_500)).isFalse();
    report(.2);
    assertThat(after(1_000)).isTrue();
    report(.1);
    assertThat(after(250)).as("clients have left").isTrue();
    report(.3);
    assertThat(after(250)).isFalse();
  }

  @Test
  void silentWhileTheLoadThatItsEngineReportsChanges_isNotWedged() {
    book(10);
    after(500);
    progress.progressed(now);
    report(0);
    for (double use = .1; use < 1; use += .1) {
      report(use);
      assertThat(after(19_000)).isFalse();
    }
  }

  @Test
  void slowEngine_isWaitedForThriceAsLongAsItEverPaused() {
    book(10);
    after(500);
    progress.progressed(now);
    report(0);
    for (double use = .1; use < .5; use += .1) {
      report(use);
      assertThat(after(15_000)).isFalse();
    }
    assertThat(after(29_000)).isFalse();
    assertThat(after(2_000)).isTrue();
  }

  @Test
  void waitsForBlocksOfAnotherWorker_andNothingElse_isNotWedged() {
    inFlight++;
    report(.1);
    report(.2);
    assertThat(after(600_000)).isFalse();
  }

  @Test
  void hangThatEnded_doesNotHideTheNext() {
    book(10);
    after(500);
    progress.progressed(now);
    report(.1);
    report(.2);
    assertThat(after(3_600_000)).isTrue();
    report(.3);
    assertThat(after(250)).isFalse();
    assertThat(after(181_000)).isTrue();
  }

  @Test
  void loadThatIsReported_andNeverMovesAsItComputes_provesNothing() {
    book(10);
    progress.reported(new EngineReport(1, 0, .5), new EngineReport(2, 0, .6), now);
    progress.reported(new EngineReport(2, 0, .6), new EngineReport(2, 0, .6), now);
    after(500);
    progress.progressed(now);
    assertThat(after(600_000)).isFalse();
  }

  @Test
  void prompts_areWaitedForTwiceAsLongAsTheyShouldTake() {
    after(1_000);
    book(5_000);
    assertThat(after(9_750)).isFalse();
    assertThat(after(500)).isTrue();
  }

  @Test
  void prompts_areNotWaitedForWithoutEnd() {
    after(1_000);
    book(10_000_000);
    assertThat(after(59_500)).isFalse();
    assertThat(after(1_000)).isTrue();
  }

  @Test
  void whatComesLater_doesNotProlongTheWait() {
    after(1_000);
    book(100);
    boolean wedged = false;
    for (int second = 1; second <= 4; second++) {
      wedged = after(1_000);
      book(2_000);
    }
    assertThat(wedged).isTrue();
  }

  @Test
  void wedged_untilItMoves() {
    book(10);
    after(4_000);
    assertThat(progress.wedged()).isTrue();
    progress.progressed(now);
    assertThat(after(250)).isFalse();
    assertThat(after(60_000)).as("nothing more was given to it").isFalse();
  }

  @Test
  void wedged_andLeftByAll_isGivenAnotherTry() {
    book(10);
    after(4_000);
    end();
    assertThat(after(29_000)).isTrue();
    assertThat(after(2_000)).isFalse();
    book(10);
    assertThat(progress.wedged()).as("one at a time, until something comes").isTrue();
    assertThat(after(250)).isTrue();
    progress.progressed(now);
    assertThat(after(250)).isFalse();
    book(10);
    assertThat(after(2_500)).as("as before").isFalse();
    assertThat(after(1_000)).isTrue();
  }

  @Test
  void wedged_isTriedWithNoRequestOfClients_whileACanaryWaits() {
    book(10);
    assertThat(after(4_000)).isTrue();
    progress.canarySent();
    end();
    assertThat(after(3_600_000)).isTrue();
    progress.canaryEnded(true, now);
    assertThat(after(250)).isFalse();
  }

  @Test
  void wedged_andItsCanaryIsRefused_isTriedWithARequest() {
    book(10);
    assertThat(after(4_000)).isTrue();
    progress.canarySent();
    end();
    assertThat(after(60_000)).isTrue();
    progress.canaryEnded(false, now);
    assertThat(after(29_000)).isTrue();
    assertThat(after(2_000)).isFalse();
    book(10);
    assertThat(after(250)).isTrue();
  }

  @Test
  void wedged_andWaitingForItsTrial_isInUntilOneComes() {
    book(10);
    after(4_000);
    end();
    after(31_000);
    assertThat(after(600_000)).isFalse();
    inFlight++;
    assertThat(after(250)).as("an answer that comes whole").isTrue();
    progress.progressed(now);
    inFlight--;
    assertThat(after(250)).isFalse();
  }

  @Test
  void trialsThatFail_becomeSeldom() {
    book(10);
    after(4_000);
    end();
    long[] seconds = {30, 60, 120, 240, 240};
    for (long pause : seconds) {
      assertThat(after(pause * 1_000)).isTrue();
      assertThat(after(1_000)).as("after %d s", pause).isFalse();
      book(10);
      assertThat(after(30_000)).isTrue();
      end();
    }
    assertThat(after(239_000)).isTrue();
    progress.progressed(now);
    assertThat(after(250)).isFalse();
    book(10);
    after(4_000);
    end();
    assertThat(after(31_000)).as("it had moved").isFalse();
  }

  /** Whatever comes and goes: who brought something within the last 3 s is in, and who stands still gets out. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void random_neverWedgedWhileMoving_alwaysWhenHungUnderLoad(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    Deque<Double> open = new ArrayDeque<>();
    for (int step = 0; step < 2_000; step++) {
      if (random.nextInt(3) == 0) {
        double prefill = random.nextDouble(50);
        open.add(prefill);
        book(prefill);
      }
      if (!open.isEmpty() && random.nextInt(3) == 0) {
        queueMs -= open.remove();
        end();
      }
      if (!open.isEmpty()) {
        progress.progressed(now);
      }
      assertThat(after(random.nextInt(1, 2_500))).isFalse();
    }
    book(10);
    book(10);
    after(1_000);
    book(10);
    assertThat(after(61_000)).isTrue();
  }
}
