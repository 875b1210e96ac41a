package io.kvasir.programs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ThrashGuardTest {
  private static final long CAPACITY = 1_000;
  private static final GuardSettings SETTINGS = new GuardSettings(0.6, 0.9, 10_000, 60_000, 50);

  private final ThrashGuard guard = new ThrashGuard(SETTINGS, new Counts(), certain());
  private int held;
  private int paused;
  private int forced;
  private final List<String> left = new ArrayList<>();
  private final List<Long> gapsMs = new ArrayList<>();
  private long now;

  @Test
  void mayGo_withRoom_always() {
    for (int i = 0; i < 6; i++) {
      assertThat(go("p" + i, 100, 0)).isTrue();
    }
    assertThat(guard.status()).isEqualTo(new GuardStatus(6, 6, 600, 600, 0));
  }

  @Test
  void mayGo_aNewProgramWithoutRoom_waitsUntilAnotherIsNotExpectedBack() {
    assertThat(go("old", 600, 0)).isTrue();
    assertThat(go("new", 100, 0)).isFalse();
    end("old", 600);
    assertThat(go("new", 100, 0)).as("it thinks, but is alive").isFalse();

    pass(SETTINGS.aliveMs(), "new");

    assertThat(go("new", 100, 0)).isTrue();
    assertThat(held).isOne();
  }

  @Test
  void left_whenAProgramIsNotExpectedBack_once() {
    guard.began(new ProgramTurn("ends", 100, 0, true), now);
    assertThat(left).as("its last turn runs").isEmpty();
    end("ends", 100);
    assertThat(left).containsExactly("ends");

    assertThat(go("quiet", 100, 0)).isTrue();
    now += SETTINGS.aliveMs();
    guard.expire(now);
    assertThat(left).as("its turn runs").containsExactly("ends");
    end("quiet", 100);
    now += SETTINGS.aliveMs() - 1;
    guard.expire(now);
    assertThat(left).containsExactly("ends");
    now += 1;
    guard.expire(now);
    guard.expire(now);
    assertThat(left).containsExactly("ends", "quiet");

    for (String program : List.of("large", "larger")) {
      assertThat(go(program, 300, 0)).isTrue();
    }
    end("large", 500);
    end("larger", 600);
    assertThat(left).as("paused to make room").containsExactly("ends", "quiet", "large");

    guard.began(new ProgramTurn("quiet", 100, 0, false), now);
    guard.began(new ProgramTurn("quiet", 100, 0, true), now);
    end("quiet", 100);
    assertThat(left).as("it came back after all").hasSize(3);
    end("quiet", 100);
    assertThat(left).containsExactly("ends", "quiet", "large", "quiet");
  }

  /** While the engines are busy many are let in before the first of them goes. */
  @Test
  void mayGo_programsThatWereLetIn_countBeforeTheirTurnsGo() {
    ThrashGuard unsure = new ThrashGuard(SETTINGS, new Counts());
    ProgramTurn first = new ProgramTurn("a", 400, 0, false);
    assertThat(unsure.mayGo(first, CAPACITY, now)).isTrue();
    assertThat(unsure.mayGo(new ProgramTurn("b", 400, 0, false), CAPACITY, now)).isFalse();
    assertThat(unsure.status().expectedTokens()).isEqualTo(400);

    unsure.began(first, now);
    assertThat(unsure.status().expectedTokens()).isEqualTo(400);
    unsure.ended("a", 500, CAPACITY, now);
    assertThat(unsure.status().liveTokens()).isEqualTo(500);
    assertThat(unsure.status().expectedTokens()).as("nobody was seen to come back").isZero();
  }

  /** Whoever was let in and left makes room like one that does not come back. */
  @Test
  void mayGo_programsThatWereLetIn_andNeverWent_areForgottenInTime() {
    assertThat(guard.mayGo(new ProgramTurn("left", 600, 0, false), CAPACITY, now)).isTrue();
    assertThat(go("new", 100, 0)).isFalse();
    pass(SETTINGS.aliveMs(), "new");
    assertThat(go("new", 100, 0)).isTrue();
    assertThat(guard.status().liveTokens()).isEqualTo(guard.status().expectedTokens()).isEqualTo(100);
  }

  @Test
  void mayGo_aProgramThatHasSaidItEnds_makesRoomAtOnce() {
    guard.began(new ProgramTurn("old", 600, 0, true), now);
    assertThat(go("new", 100, 0)).isFalse();

    end("old", 600);

    assertThat(go("new", 100, 0)).isTrue();
  }

  @Test
  void mayGo_aLiveProgram_neverWaits() {
    assertThat(go("a", 300, 0)).isTrue();
    assertThat(go("b", 300, 0)).isTrue();
    assertThat(go("c", 300, 0)).isFalse();

    assertThat(go("a", 700, 0)).as("though others wait and there is no room").isTrue();
  }

  @Test
  void mayGo_sharedPrefixes_countOnce() {
    assertThat(go("a", 500, 0)).isTrue();

    for (int i = 0; i < 5; i++) {
      assertThat(go("sibling " + i, 510, 500)).isTrue();
    }
    assertThat(guard.status().liveTokens()).isEqualTo(550);
  }

  @Test
  void ended_contextsThatGrowTooFar_pauseThoseThatHaveBeenIdleForLongest() {
    go("a", 200, 0);
    go("b", 200, 0);
    go("c", 200, 0);
    end("b", 200);
    now++;
    end("a", 200);

    end("c", 600);

    assertThat(paused).isOne();
    assertThat(live()).containsExactlyInAnyOrder("a", "c");
  }

  @Test
  void mayGo_whoWaits_goesInOrderOfWhatIsStillHeld() {
    go("a", 300, 0);
    go("b", 300, 0);
    end("a", 300);
    now++;
    end("b", 650); // pauses a
    assertThat(live()).containsExactly("b");
    assertThat(go("new", 100, 0)).isFalse();
    now++;
    assertThat(go("a", 310, 0)).as("its prefix was evicted").isFalse();

    // b makes room for one of them.
    pass(SETTINGS.aliveMs(), "new", "a");

    assertThat(offer("new", 550, 0)).as("a was known before").isFalse();
    assertThat(go("a", 310, 300)).isTrue();
  }

  /** Between the two shares, a prefix that is held lets its program in; one that would have to be computed does not. */
  @Test
  void mayGo_betweenTheShares_onlyWhatIsHeld() {
    go("a", 150, 0);
    go("b", 150, 0);
    end("a", 150);
    pass(SETTINGS.aliveMs(), "b");
    go("b", 700, 0);
    assertThat(go("new", 100, 0)).isFalse();

    assertThat(go("a", 160, 20)).isFalse();
    assertThat(go("a", 160, 150)).isTrue();
  }

  @Test
  void mayGo_afterTheLongestWait_inAnyCase() {
    go("old", 900, 0);
    assertThat(go("new", 500, 0)).isFalse();

    pass(SETTINGS.longestWaitMs() - 1, "old", "new");
    assertThat(go("new", 500, 0)).isFalse();
    now++;

    assertThat(go("new", 500, 0)).isTrue();
    assertThat(forced).isOne();
  }

  @Test
  void mayGo_whoIsOfferedNoMore_holdsNobodyBack() {
    go("old", 550, 0);
    assertThat(go("left", 100, 0)).isFalse();
    assertThat(offer("small", 10, 0)).as("behind the first").isFalse();

    now += ThrashGuard.LEFT_MS + 1;

    assertThat(offer("small", 10, 0)).isTrue();
  }

  @Test
  void mayGo_moreThanAllWorkersHold_goesAlone() {
    assertThat(go("huge", 5_000, 0)).isTrue();
    assertThat(go("other", 10, 0)).isFalse();
  }

  private boolean go(String tenant, int weight, String program, int prompt) {
    ProgramTurn turn = new ProgramTurn(program, tenant, weight, prompt, 0, false);
    boolean goes = guard.mayGo(turn, CAPACITY, now);
    if (goes) {
      guard.began(turn, now);
    }
    return goes;
  }

  @Test
  void mayGo_programsOfTheTenantThatHasLeast_goFirst() {
    assertThat(go("heavy", 1, "h1", 200)).isTrue();
    assertThat(go("heavy", 1, "h2", 200)).isTrue();
    assertThat(go("light", 1, "l1", 150)).isTrue();
    for (int i = 3; i < 10; i++) {
      assertThat(go("heavy", 1, "h" + i, 160)).isFalse();
      now++;
    }
    assertThat(go("light", 1, "l2", 100)).as("no room for it either").isFalse();
    pass("h2");

    assertThat(go("heavy", 1, "h3", 160)).as("the other tenant has less").isFalse();
    assertThat(go("light", 1, "l2", 100)).isTrue();
    assertThat(go("heavy", 1, "h3", 160)).as("no room is left").isFalse();
  }

  @Test
  void mayGo_tenantWithMoreWeight_hasMore() {
    go("paying", 3, "p1", 300);
    go("other", 1, "o1", 200);
    assertThat(go("other", 1, "o2", 200)).isFalse();
    now++;
    assertThat(go("paying", 3, "p2", 200)).isFalse();
    pass("o1");
    assertThat(go("other", 1, "o2", 200)).as("has nothing now").isTrue();
    pass("o2");
    assertThat(go("other", 1, "o3", 301)).as("too large").isFalse();
    now++;
    assertThat(go("paying", 3, "p2", 200)).as("it holds up the others").isTrue();
  }

  /** With a share of 600 for all, and 300 for each of two tenants. */
  @Test
  void mayGo_moreThanItsTenantsShare_holdsNobodyUp() {
    go("a", 1, "a1", 250);
    assertThat(go("b", 1, "large", 400)).isFalse();
    now++;
    assertThat(go("a", 1, "a2", 100)).isTrue();
    assertThat(go("b", 1, "b2", 100)).isTrue();
    pass("a1");
    pass("a2");
    assertThat(go("b", 1, "large", 400)).as("room has become free").isTrue();
  }

  @Test
  void mayGo_withinItsTenantsShare_waitsForItsRoom_beforeTenantsThatHaveMore() {
    go("a", 1, "a1", 250);
    go("a", 1, "a3", 150);
    go("b", 1, "b1", 100);
    assertThat(go("b", 1, "b2", 200)).isFalse();
    assertThat(go("a", 1, "a2", 50)).as("would take its room").isFalse();
    pass("a1");
    assertThat(go("b", 1, "b2", 200)).isTrue();
    assertThat(go("a", 1, "a2", 50)).isTrue();
  }

  @Test
  void mayGo_tooLargeForItsShare_goesAfterTheLongestWait() {
    go("a", 1, "a1", 590);
    boolean went = false;
    for (long waited = 0; waited < SETTINGS.longestWaitMs(); waited += 1_000) {
      assertThat(went).as("after %d ms", waited).isFalse();
      went = go("b", 1, "large", 5_000);
      assertThat(go("a", 1, "a1", 590)).isTrue();
      now += 1_000;
    }
    assertThat(go("b", 1, "large", 5_000)).isTrue();
    assertThat(forced).isOne();
  }

  /** A program ends: it says so with its last turn. */
  private void pass(String program) {
    guard.began(new ProgramTurn(program, 1, 0, true), now);
    end(program, 1);
    end(program, 1);
  }

  /** Tenants that always have another program to let in have equal shares of what the workers hold. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void anyTenants_thatAlwaysWait_haveEqualShares(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    ThrashGuard busy =
        new ThrashGuard(new GuardSettings(0.6, 0.9, 10_000, 600_000, 1_000), new Counts(), certain());
    List<ProgramTurn> waiting = new ArrayList<>();
    List<ProgramTurn> running = new ArrayList<>();
    Map<String, Long> tokens = new HashMap<>();
    int programs = 0;
    for (int step = 0; step < 4_000; step++) {
      now += random.nextInt(1_000);
      for (int tenant = 0; tenant < 3; tenant++) {
        String name = "t" + tenant;
        while (waiting.stream().filter(turn -> turn.tenant().equals(name)).count() < 3) {
          int prompt = 1 + random.nextInt(tenant == 2 ? 80 : 40);
          waiting.add(new ProgramTurn("p" + programs++, name, 1, prompt, 0, true));
        }
      }
      if (!running.isEmpty() && random.nextInt(3) == 0) {
        ProgramTurn ended = running.remove(random.nextInt(running.size()));
        busy.ended(ended.program(), ended.promptTokens(), CAPACITY, now);
      }
      for (ProgramTurn turn : List.copyOf(waiting)) {
        if (busy.mayGo(turn, CAPACITY, now)) {
          busy.began(turn, now);
          running.add(turn);
          waiting.remove(turn);
        }
      }
      running.forEach(turn -> tokens.merge(turn.tenant(), (long) turn.promptTokens(), Long::sum));
      assertThat(busy.status().waiting()).isEqualTo(waiting.size());
    }
    assertThat(forced).isZero();
    long most = tokens.values().stream().mapToLong(each -> each).max().orElseThrow();
    assertThat(tokens.values()).hasSize(3).allMatch(each -> each > 0.8 * most);
  }

  @Test
  void mayGo_unknownCapacity_always() {
    for (int i = 0; i < 20; i++) {
      assertThat(guard.mayGo(new ProgramTurn("p" + i, 900, 0, false), 0, now)).isTrue();
    }
  }

  @Test
  void mayGo_whoComesBackAfterHavingLeft_beginsToWaitAnew() {
    go("old", 590, 0);
    assertThat(go("first", 100, 0)).isFalse();
    assertThat(go("left", 100, 0)).isFalse();

    pass(SETTINGS.longestWaitMs() - 1_000, "old", "first");
    now += 1_001;

    assertThat(go("left", 100, 0)).as("it has just come back").isFalse();
    assertThat(forced).isZero();
  }

  @Test
  void began_whoWaits_doesNotWaitAnyLonger() {
    go("old", 550, 0);
    assertThat(go("waits", 100, 0)).isFalse();

    guard.began(new ProgramTurn("waits", 40, 0, false), now);

    assertThat(guard.status().waiting()).isZero();
    assertThat(offer("small", 5, 0)).as("nobody is before it").isTrue();
  }

  @Test
  void ended_aTurnOfAProgramThatWasForgottenMeanwhile_countsForNothing() {
    assertThat(go("slow", 1, 0)).isTrue();
    for (int i = 0; i < SETTINGS.maxPrograms(); i++) {
      go("p" + i, 1, 0);
    }
    assertThat(guard.mayGo(new ProgramTurn("slow", 1, 0, false), CAPACITY, now)).isTrue();
    for (int i = 0; i < 100; i++) {
      end("slow", 100);
    }
    GuardStatus status = guard.status();
    assertThat(status.liveTokens()).as("the others', and what it was let in for").isEqualTo(SETTINGS.maxPrograms());
    assertThat(status.expectedTokens()).isEqualTo(status.liveTokens());
  }

  @Test
  void programs_moreThanAreRemembered_areForgotten() {
    for (int i = 0; i < 3 * SETTINGS.maxPrograms(); i++) {
      go("p" + i, 1, 0);
    }
    assertThat(guard.status().programs()).isEqualTo(SETTINGS.maxPrograms());
    assertThat(guard.status().liveTokens()).isEqualTo(SETTINGS.maxPrograms());
  }

  @Test
  void largest_hasWhatIsKnown() {
    go("a", 100, 40);
    now += 10;
    end("a", 120);
    now += 500;
    go("a", 150, 112);
    end("a", 160);
    now += 700;
    go("a", 170, 160);
    go("b", 10, 0);

    assertThat(guard.largest(1)).containsExactly(new ProgramStatus("a", true, 3, 600, 320, 272, 130));
    assertThat(gapsMs).containsExactly(500L, 700L);
    assertThat(guard.largest(9)).extracting(ProgramStatus::program).containsExactly("a", "b");
  }

  /** A conversation that was summarised is found out; a short question beside it changes little. */
  @Test
  void ended_aShorterContext_countsByAPart() {
    go("a", 500, 0);
    end("a", 500);
    go("a", 20, 0);
    end("a", 20);
    assertThat(guard.status().liveTokens()).isBetween(350L, 450L);

    for (int i = 0; i < 30; i++) {
      go("a", 100, 0);
      end("a", 100);
    }
    assertThat(guard.status().liveTokens()).isLessThan(120);
  }

  @Test
  void settings_outOfRange_areNamed() {
    assertThatThrownBy(() -> new GuardSettings(0, 1, 1, 1, 1)).hasMessageContaining("admit-below");
    assertThatThrownBy(() -> new GuardSettings(0.9, 0.8, 1, 1, 1)).hasMessageContaining("pause-above");
    assertThatThrownBy(() -> new GuardSettings(0.5, 0.8, 0, 1, 1)).hasMessageContaining("alive");
    assertThatThrownBy(() -> new GuardSettings(0.5, 0.8, 1, 0, 1)).hasMessageContaining("longest-wait");
    assertThatThrownBy(() -> new GuardSettings(0.5, 0.8, 1, 1, 0)).hasMessageContaining("max-programs");
  }

  /** Random programs over a long time, against sums and waits that are computed anew at each step. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void anyHistory_keepsItsRules(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<ProgramTurn> waiting = new ArrayList<>();
    Map<String, Long> since = new HashMap<>();
    List<ProgramTurn> running = new ArrayList<>();
    for (int step = 0; step < 5_000; step++) {
      now += random.nextInt(300);
      if (random.nextInt(4) == 0) {
        String name = "p" + random.nextInt(40);
        if (waiting.stream().noneMatch(turn -> turn.program().equals(name))) {
          int prompt = 1 + random.nextInt(300);
          waiting.add(new ProgramTurn(name, prompt, random.nextInt(prompt), random.nextInt(20) == 0));
          since.put(name, now);
        }
      }
      if (!running.isEmpty() && random.nextInt(3) == 0) {
        ProgramTurn ended = running.remove(random.nextInt(running.size()));
        end(ended.program(), ended.promptTokens() + random.nextInt(100));
      }
      for (ProgramTurn turn : List.copyOf(waiting)) {
        boolean live = live().contains(turn.program());
        int before = forced;
        boolean goes = guard.mayGo(turn, CAPACITY, now);
        long waited = now - since.getOrDefault(turn.program(), now);
        assertThat(waited).isLessThan(SETTINGS.longestWaitMs() + 300);
        if (live && live().contains(turn.program())) {
          assertThat(goes).as("a live program's turn").isTrue();
        } else if (goes && forced == before) {
          long others = guard.status().expectedTokens();
          assertThat(others).as("let in while there was room").isLessThanOrEqualTo((long) (0.9 * CAPACITY));
        }
        if (goes) {
          guard.began(turn, now);
          running.add(turn);
          waiting.remove(turn);
        }
      }
      List<ProgramStatus> all = guard.largest(100);
      long own = all.stream().filter(ProgramStatus::live).mapToLong(ProgramStatus::ownTokens).sum();
      assertThat(guard.status().liveTokens()).isEqualTo(own);
      assertThat(guard.status().live()).isEqualTo((int) all.stream().filter(ProgramStatus::live).count());
      assertThat(guard.status().waiting()).isEqualTo(waiting.size());
    }
    assertThat(held).isPositive();
    assertThat(paused).isPositive();
  }

  /** Prompts that nobody continues hold nobody back, however many there are; those of agents do. */
  @Test
  void mayGo_programsThatDoNotComeBack_countForNothing() {
    ThrashGuard learning = new ThrashGuard(SETTINGS, ProgramListener.NONE);
    for (int i = 0; i < 45; i++) {
      ProgramTurn once = new ProgramTurn("once " + i, 100, 0, false);
      assertThat(learning.mayGo(once, CAPACITY, now)).as("%d", i).isTrue();
      learning.began(once, now);
      learning.ended(once.program(), 100, CAPACITY, now);
    }
    for (int turn = 0; turn < 100; turn++) {
      ProgramTurn agent = new ProgramTurn("agent", 500, 0, false);
      learning.began(agent, now);
      learning.ended("agent", 500, CAPACITY, now);
    }
    assertThat(learning.status().expectedTokens()).isBetween(400L, 650L);

    assertThat(learning.mayGo(new ProgramTurn("new", 400, 0, false), CAPACITY, now)).isFalse();
  }

  /** Every program has come back so far. */
  private static ReturnRate certain() {
    ReturnRate rate = new ReturnRate();
    for (int i = 0; i < 10_000; i++) {
      rate.ended(true);
      rate.returned(true);
      rate.ended(false);
      rate.returned(false);
    }
    return rate;
  }

  private final class Counts implements ProgramListener {
    @Override
    public void returned(ProgramTurn turn, long gapMs) {
      gapsMs.add(gapMs);
    }

    @Override
    public void held() {
      held++;
    }

    @Override
    public void paused() {
      paused++;
    }

    @Override
    public void forced() {
      forced++;
    }

    @Override
    public void left(String program) {
      left.add(program);
    }
  }

  private boolean offer(String program, int prompt, int held) {
    return guard.mayGo(new ProgramTurn(program, prompt, held, false), CAPACITY, now);
  }

  private boolean go(String program, int prompt, int held) {
    boolean goes = offer(program, prompt, held);
    if (goes) {
      guard.began(new ProgramTurn(program, prompt, held, false), now);
    }
    return goes;
  }

  private void end(String program, int context) {
    guard.ended(program, context, CAPACITY, now);
  }

  /** Lets time pass; the programs named keep offering their turns, as a waiting room does. */
  private void pass(long millis, String... offering) {
    long until = now + millis;
    while (now < until) {
      now = Math.min(until, now + 1_000);
      if (now < until) {
        for (String program : offering) {
          boolean _ = offer(program, 550, 0);
        }
      }
    }
  }

  private List<String> live() {
    return guard.largest(100).stream().filter(ProgramStatus::live).map(ProgramStatus::program).toList();
  }
}
