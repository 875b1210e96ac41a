package io.kvasir.scale;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.kvasir.routing.Role;
import io.kvasir.routing.cost.DecodeCost;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.function.DoubleUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class ScaleAdvisorTest {
  private static final double TICK = 5;
  private static final ScaleGoals GOALS =
      new ScaleGoals(
          Duration.ofSeconds(2), Duration.ofMillis(50), 0.7, Duration.ofMinutes(5), Duration.ofMinutes(10), 1, 64);
  private static final WorkerCapacity CAPACITY = new WorkerCapacity(new DecodeCost(10, 0.01, 1e-4, 500_000), 256);

  /** Only what is asked for, at so many workers. */
  private static FleetDemand demand(int workers, double prefill, int inFlight, long context, double memory) {
    return new FleetDemand(workers, workers, prefill, 0, 0, inFlight, context, memory, 0, 0, 0, 0, Backlog.NONE);
  }

  private static ScaleAdvisor advisor() {
    return new ScaleAdvisor(new ScaleTarget("m", Role.BOTH), GOALS);
  }

  @Test
  void prompts_areReadInTheirShareOfTheTime() {
    ScaleAdvice advice = advisor().advise(0, demand(1, 3.4, 0, 0, 0), CAPACITY);

    assertThat(advice.desired()).isEqualTo(5);
    assertThat(advice.reason()).isEqualTo("4.9 workers for prompts to be read, in 70 % of the time");
  }

  @Test
  void memory_andSlots_count() {
    assertThat(advisor().advise(0, demand(1, 0, 1, 0, 6.5), CAPACITY).desired()).isEqualTo(8);
    assertThat(advisor().advise(0, demand(1, 0, 2 * 256, 0, 0), CAPACITY).desired()).isEqualTo(3);
  }

  @Test
  void backlog_isReadUntilAnotherWorkerCouldServe() {
    FleetDemand late = new FleetDemand(2, 2, 1, 0, 304 + 600, 0, 0, 0, 0, 0, 0, 450, Backlog.NONE);

    assertThat(advisor().advise(0, late, CAPACITY)).satisfies(advice -> {
      assertThat(advice.desired()).isEqualTo(4);
      assertThat(advice.reason()).isEqualTo("4.0 workers for prompts that wait for longer than 2.0 s");
    });
  }

  /**
   * Requests come at a rate, and are in flight for as long as workers take for their tokens. However many workers there
   * are, the number for the pace is the same, and it is the fewest that keep it.
   */
  @Test
  void pace_isKeptByTheFewestWorkers_howeverManyThereAre() {
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 300; i++) {
      Traffic traffic =
          new Traffic(
              random.nextDouble(1, 20), random.nextDouble(0.6), random.nextInt(20, 600), random.nextInt(20_000));
      int fewest = 1;
      while (traffic.slowTokenMs(fewest) > 50) {
        fewest++;
      }
      for (int workers : new int[] {fewest, 2 * fewest, 20 * fewest}) {
        double pace = Need.pace(traffic.on(workers), Role.BOTH, CAPACITY, GOALS);
        assertThat(pace).isBetween(fewest - 1.1, fewest + 0.1);
      }
    }
  }

  /** Requests per second with seconds of prefill, tokens to generate and a context. */
  private record Traffic(double rate, double prefill, int tokens, int context) {
    private static final DecodeCost COST = CAPACITY.decode();

    private double left(int workers) {
      double added = COST.msPerSequence() + context * COST.msPerContextToken();
      return 1 - rate * (prefill + tokens * added / 1e3) / workers;
    }

    double tokenMs(int workers) {
      return COST.stepMs() / left(workers);
    }

    double slowTokenMs(int workers) {
      double left = left(workers);
      double busyPeriods = rate * prefill / workers * prefill * 1e3 * COST.stepMs() / tokens / Math.pow(left, 3);
      return left <= 0 ? Double.POSITIVE_INFINITY : tokenMs(workers) + 1.645 * Math.sqrt(busyPeriods);
    }

    FleetDemand on(int workers) {
      double inFlight = rate * tokens * tokenMs(workers) / 1e3;
      return new FleetDemand(
          workers, workers, rate * prefill, prefill, 0, (int) Math.round(inFlight), Math.round(inFlight * context), 0,
          tokens, 0, 0, 0, Backlog.NONE);
    }
  }

  @ParameterizedTest
  @EnumSource(Role.class)
  void need_growsWithDemand(Role role) {
    SplittableRandom random = new SplittableRandom(2);
    for (int i = 0; i < 1000; i++) {
      int ready = random.nextInt(20);
      double[] more = {1, 1, 1, 1, 1};
      more[random.nextInt(more.length)] += random.nextDouble();
      double prefill = random.nextDouble(9);
      double perPrompt = random.nextDouble();
      double owed = random.nextDouble(200);
      int inFlight = random.nextInt(3000);
      long context = random.nextLong(5_000_000);
      double memory = random.nextDouble(9);
      FleetDemand low =
          new FleetDemand(
              ready, ready, prefill, perPrompt, owed, inFlight, context, memory, 100, 0, 0, 0, Backlog.NONE);
      FleetDemand high =
          new FleetDemand(
              ready, ready, prefill * more[0], perPrompt, owed * more[1], (int) Math.ceil(inFlight * more[2]),
              (long) Math.ceil(context * more[3]), memory * more[4], 100, 0, 0, 0, Backlog.NONE);
      assertThat(Need.of(high, role, CAPACITY, GOALS).workers())
          .isGreaterThanOrEqualTo(Need.of(low, role, CAPACITY, GOALS).workers());
    }
  }

  @Test
  void roles_needWhatTheyDo() {
    FleetDemand prompts = demand(1, 7, 0, 0, 5);
    assertThat(Need.of(prompts, Role.PREFILL, CAPACITY, GOALS)).isEqualTo(new Need(10, Need.Limit.PREFILL));
    assertThat(Need.of(prompts, Role.DECODE, CAPACITY, GOALS).limit()).isEqualTo(Need.Limit.MEMORY);
  }

  @Test
  void advice_staysWithinBounds() {
    SplittableRandom random = new SplittableRandom(3);
    ScaleAdvisor advisor = advisor();
    for (int i = 0; i < 5000; i++) {
      double burst = Math.exp(random.nextDouble(-6, 6));
      ScaleAdvice advice = advisor.advise(i * TICK, demand(1, burst, (int) burst, 0, burst), CAPACITY);
      assertThat(advice.now()).isBetween(1, 64);
      assertThat(advice.ahead()).isBetween(advice.now(), 64);
      assertThat(advice.desired()).isBetween(advice.ahead(), 64);
    }
  }

  @Test
  void constantDemand_changesNothing() {
    assertThat(changes(_ -> 4.2, 0, 4 * 3600)).isZero();
  }

  /** Requests of 0.3 s of prefill come at random: the number settles and stays. */
  @Test
  void scatteredDemand_doesNotFlap() {
    for (long seed = 1; seed <= 20; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      DoubleUnaryOperator poisson = _ -> {
        int arrivals = 0;
        for (double at = -Math.log(1 - random.nextDouble()); at < 14 * TICK; at -= Math.log(1 - random.nextDouble())) {
          arrivals++;
        }
        return arrivals * 0.3 / TICK;
      };
      assertThat(changes(poisson, 3600, 12 * 3600)).as("seed %d", seed).isLessThanOrEqualTo(1);
    }
  }

  /** How often the number changes between two times. */
  private static int changes(DoubleUnaryOperator prefill, double from, double to) {
    ScaleAdvisor advisor = advisor();
    int changes = 0;
    int last = -1;
    for (double at = 0; at < to; at += TICK) {
      int desired = advisor.advise(at, demand(1, prefill.applyAsDouble(at), 1, 0, 0), CAPACITY).desired();
      changes += last >= 0 && at >= from && desired != last ? 1 : 0;
      last = desired;
    }
    return changes;
  }

  @Test
  void risingDemand_isMetBeforeItComes() {
    ScaleAdvisor advisor = advisor();
    int foreseen = 0;
    DoubleUnaryOperator rising = at -> 2 + at * 4 / 3600;
    for (double at = 0; at < 3600; at += TICK) {
      ScaleAdvice advice = advisor.advise(at, demand(1, rising.applyAsDouble(at), 1, 0, 0), CAPACITY);
      if (at > 600) {
        double then = rising.applyAsDouble(at + 300) / 0.7;
        assertThat((double) advice.desired()).isBetween(then - 0.01, then + 1.01);
        assertThat(advice.reason().contains("rising by")).isEqualTo(advice.ahead() > advice.now());
        foreseen += advice.ahead() > advice.now() ? 1 : 0;
      }
    }
    assertThat(foreseen).isPositive();
  }

  @Test
  void fallingDemand_isFollowedSlowly() {
    ScaleAdvisor advisor = advisor();
    int last = 0;
    for (double at = 0; at < 7200; at += TICK) {
      double prefill = at < 3600 ? 7 : 1.4;
      ScaleAdvice advice = advisor.advise(at, demand(1, prefill, 1, 0, 0), CAPACITY);
      last = advice.desired();
      if (at >= 1200 && at < 3600 + 600) {
        assertThat(last).as("at %s", at).isEqualTo(10);
      }
      if (at == 3900) {
        assertThat(advice.reason()).isEqualTo("fewer would do (2), but not for 10 min yet with enough to spare");
      }
    }
    assertThat(last).isEqualTo(3);
  }

  @Test
  void fleetThatIsThere_isTheBeginning() {
    ScaleAdvisor advisor = advisor();
    assertThat(advisor.advise(0, demand(9, 0, 0, 0, 0), CAPACITY).desired()).isEqualTo(9);
    assertThat(advisor.advise(599, demand(9, 0, 0, 0, 0), CAPACITY).desired()).isEqualTo(9);
    ScaleAdvice later = advisor.advise(600, demand(9, 0, 0, 0, 0), CAPACITY);
    assertThat(later.desired()).isEqualTo(1);
    assertThat(later.reason()).isEqualTo("the fewest that there are to be");
  }

  @Test
  void withoutLeast_idleFleetIsEmptied_andActiveOneIsNot() {
    ScaleGoals none = new ScaleGoals(
        GOALS.firstToken(), GOALS.perToken(), 0.7, GOALS.startup(), Duration.ofMinutes(1), 0, 64);
    ScaleAdvisor advisor = new ScaleAdvisor(new ScaleTarget("m", Role.DECODE), none);
    for (int at = 0; at <= 300; at += 5) {
      int desired = advisor.advise(at, demand(1, 0, 0, 0, 0), CAPACITY).desired();
      assertThat(desired).isEqualTo(at < 60 ? 1 : 0);
    }
    FleetDemand waiting = new FleetDemand(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, Backlog.NONE);
    assertThat(advisor.advise(305, waiting, CAPACITY).desired()).isEqualTo(1);
  }

  @Test
  void headroom_isWhatThePaceLeaves() {
    FleetDemand half = demand(2, 0.8, 0, 0, 0);
    assertThat(advisor().advise(0, half, CAPACITY).headroom()).isEqualTo(0.5, within(1e-9));
    assertThat(advisor().advise(0, demand(0, 0, 0, 0, 0), CAPACITY).headroom()).isZero();
  }

  /** Where requests wait says nothing of how many workers they need. */
  @ParameterizedTest
  @EnumSource(Role.class)
  void need_isTheSame_whetherRequestsWaitInTheRouterOrInEngines(Role role) {
    SplittableRandom random = new SplittableRandom(4);
    for (int i = 0; i < 1000; i++) {
      int ready = random.nextInt(20);
      double given = random.nextDouble(5);
      double more = random.nextDouble(5);
      double owed = random.nextDouble(200);
      double wait = random.nextDouble(200);
      int inFlight = random.nextInt(1000);
      int waiting = random.nextInt(3000);
      FleetDemand inEngines =
          new FleetDemand(
              ready, ready, given + more, 1, owed + wait, inFlight + waiting, 1000L * (inFlight + waiting), 1, 100, 0,
              0, 0, Backlog.NONE);
      FleetDemand inRouter =
          new FleetDemand(
              ready, ready, given, 1, owed, inFlight, 1000L * inFlight, 1, 100, 0, 0, 0,
              new Backlog(waiting, 1000L * waiting, wait, more, 0, 1, 0));
      assertThat(Need.of(inRouter, role, CAPACITY, GOALS).workers())
          .isCloseTo(Need.of(inEngines, role, CAPACITY, GOALS).workers(), within(1e-6));
      assertThat(inRouter.isActive()).isTrue();
    }
  }
}
