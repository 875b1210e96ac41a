package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.routing.Explanation.Candidate;
import io.kvasir.routing.Selection.Chosen;
import io.kvasir.telemetry.TestMetrics;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where a request goes that would be held for the worker which was picked, with at most 100 ms queued. */
final class EarlierStartTest {
  private static final double BOUND_MS = 100;
  private static final String KNOWN = "a100-Qwen2.5-14B-tp1";
  private static final String UNKNOWN = "nobody-knows";

  private final Routing routing = new Routing(3);

  /** What has been read of the queues, by slot. */
  private final double[] readMs = new double[64];

  private final QueueLimit limit =
      new QueueLimit() {
        @Override
        public double queueMs(int slot, double bookedMs) {
          return Math.max(0, bookedMs - readMs[slot]);
        }

        @Override
        public boolean holds(Worker worker, double queueMs) {
          return queueMs > BOUND_MS && worker.engine().equals(KNOWN);
        }
      };

  private static TestFleet fleet(int count) {
    Worker[] workers = new Worker[count];
    Arrays.setAll(workers, slot -> TestFleet.worker(slot, Role.BOTH, Set.of("m"), 100, KNOWN));
    return new TestFleet(workers);
  }

  private RoutingContext request(int blocks) {
    return Routing.request(blocks, 16, blocks * 16 + 1).limitQueues(limit);
  }

  private Chosen chosen(String profile, TestFleet fleet, RoutingContext request) {
    Selection selection = routing.selector(profile).select(fleet, request);
    assertThat(selection).isInstanceOf(Chosen.class);
    return (Chosen) selection;
  }

  /** The picked one decodes less, so its queue of 120 ms alone does not make it the dearer one. */
  private static TestFleet busyAndOpen() {
    TestFleet fleet = fleet(3);
    fleet.queueMs[0] = 120;
    fleet.inFlight[1] = 8;
    fleet.queueMs[1] = 30;
    fleet.inFlight[2] = 9;
    return fleet;
  }

  @Test
  void heldRequest_goesWhereItBeginsEarlier() {
    TestFleet fleet = busyAndOpen();
    Chosen chosen = chosen("expected-cost", fleet, request(100));

    assertThat(chosen.slot()).isEqualTo(1);
    assertThat(chosen.busy()).isEqualTo(fleet.workers[0]);
    assertThat(chosen.reason()).isEqualTo("expected-cost; depth=0/100; cached=0/1601; candidates=3; busy=w0");
    assertThat(chosen.alternatives()).containsExactly(fleet.workers[0], fleet.workers[2]);
    assertThat(fleet.bookedSlots).as("nothing stays booked where it was held").containsExactly(1);
    assertThat(TestMetrics.sum(routing.registry, "kvasir_routing_busy", "expected-cost")).isEqualTo(1);
  }

  @Test
  void dryRun_namesTheSame_andBooksNothing() {
    TestFleet fleet = busyAndOpen();
    Explanation explanation = routing.selector("expected-cost").explain(fleet, request(100));

    assertThat(explanation.selection())
        .isInstanceOfSatisfying(Chosen.class, chosen -> assertThat(chosen.reason()).endsWith("; busy=w0"));
    assertThat(fleet.booked).isEmpty();
  }

  @Test
  void withoutALimit_orWithinIt_thePickStands() {
    TestFleet fleet = busyAndOpen();
    assertThat(chosen("expected-cost", fleet, Routing.request(100, 16, 1601)).slot()).isZero();

    TestFleet read = busyAndOpen();
    readMs[0] = 20;
    Chosen chosen = chosen("expected-cost", read, request(100));
    assertThat(chosen.slot()).isZero();
    assertThat(chosen.busy()).isNull();
  }

  /** What it would compute again costs others more than it saves the request. */
  @Test
  void cachedPrompt_isWaitedFor() {
    TestFleet fleet = fleet(2);
    fleet.depth[0] = 100;
    fleet.queueMs[0] = 300;

    Chosen chosen = chosen("expected-cost", fleet, request(100));
    assertThat(chosen.slot()).isZero();
    assertThat(fleet.bookedSlots).containsExactly(0);
  }

  @Test
  void workersWithoutAPlace_areNoReasonToLeave() {
    TestFleet fleet = busyAndOpen();
    fleet.inFlight[1] = 100;
    fleet.inFlight[2] = 100;

    assertThat(chosen("expected-cost", fleet, request(100)).slot()).isZero();
  }

  /** Sessions move with the request, and turns of the others are not taken. */
  @Test
  void stickySession_moves() {
    Selector selector = routing.picking("score = random, pick = session");
    TestFleet fleet = fleet(2);
    Chosen first = (Chosen) selector.select(fleet, session());
    fleet.queueMs[first.slot()] = 1_000;

    Chosen second = (Chosen) selector.select(fleet, session());
    assertThat(second.busy()).isEqualTo(first.worker());
    fleet.queueMs[first.slot()] = 0;
    Chosen third = (Chosen) selector.select(fleet, session());
    assertThat(third.worker()).isEqualTo(second.worker());
  }

  private RoutingContext session() {
    return request(10).put(Slots.SESSION_KEY, "s").put(Slots.SESSION_WORKERS, "");
  }

  /** No request is held for a worker while another one that has room is expected to begin it earlier. */
  @ParameterizedTest
  @ValueSource(strings = {"expected-cost", "least-loaded", "prefix-aware", "power-of-two", "round-robin"})
  void choice_isTheNaiveOne(String profile) {
    RandomGenerator random = new SplittableRandom(11);
    Selector selector = routing.selector(profile);
    int held = 0;
    int moved = 0;
    for (int round = 0; round < 2_000; round++) {
      TestFleet fleet = randomFleet(random);
      int blocks = random.nextInt(1, 200);
      List<Candidate> all = selector.explain(fleet, Routing.request(blocks, 16, blocks * 16 + 1)).candidates();
      double[] queued = fleet.queueMs.clone();
      double price = profile.equals("expected-cost") ? price(all) : 3;

      Chosen chosen = (Chosen) selector.select(fleet, request(blocks));

      assertThat(fleet.bookedSlots).containsExactly(chosen.slot());
      Worker busy = chosen.busy();
      int first = busy == null ? chosen.slot() : busy.slot();
      List<Candidate> earlier = new ArrayList<>();
      if (limit.holds(fleet.workers[first], limit.queueMs(first, queued[first]))) {
        held++;
        for (Candidate other : all) {
          if (startsEarlier(fleet, queued, price, other, first, blocks)) {
            earlier.add(other);
          }
        }
      }
      assertThat(busy).as("round %d", round).satisfies(it -> assertThat(it == null).isEqualTo(earlier.isEmpty()));
      if (busy != null) {
        moved++;
        double best = earlier.stream().max(Comparator.comparingDouble(Candidate::total)).orElseThrow().total();
        assertThat(earlier).anySatisfy(other -> {
          assertThat(other.worker()).isEqualTo(chosen.worker());
          assertThat(other.total()).isEqualTo(best);
        });
      }
    }
    assertThat(held - moved).as("some wait").isGreaterThan(50);
    assertThat(moved).as("some go elsewhere").isGreaterThan(50);
  }

  private TestFleet randomFleet(RandomGenerator random) {
    Worker[] workers = new Worker[random.nextInt(1, 6)];
    Arrays.setAll(
        workers,
        slot ->
            TestFleet.worker(slot, Role.BOTH, Set.of("m"), 4, random.nextInt(5) == 0 ? UNKNOWN : KNOWN));
    TestFleet fleet = new TestFleet(workers);
    for (int slot = 0; slot < workers.length; slot++) {
      fleet.inFlight[slot] = random.nextInt(0, 5);
      fleet.queueMs[slot] = random.nextInt(0, 400);
      fleet.depth[slot] = random.nextInt(3) == 0 ? random.nextInt(0, 200) : 0;
      readMs[slot] = random.nextInt(2) * random.nextInt(0, 200);
    }
    if (Arrays.stream(workers).allMatch(worker -> fleet.inFlight[worker.slot()] == 4)) {
      fleet.inFlight[0] = 3;
    }
    return fleet;
  }

  private static double price(List<Candidate> all) {
    List<Candidate> remaining = all.stream().filter(each -> each.removedBy() == null).toList();
    return 3 + 4e-3 * remaining.stream().mapToDouble(Candidate::queueMs).average().orElse(0);
  }

  private boolean startsEarlier(
      TestFleet fleet, double[] queued, double price, Candidate other, int first, int blocks) {
    int slot = other.worker().slot();
    double left = limit.queueMs(slot, queued[slot]);
    if (slot == first || other.removedBy() != null || limit.holds(other.worker(), left)) {
      return false;
    }
    double prefillMs = prefillMs(fleet, slot, blocks);
    double heldMs = prefillMs(fleet, first, blocks);
    double savedMs = limit.queueMs(first, queued[first]) + heldMs - left - prefillMs;
    return savedMs > 0 && savedMs > (price - 1) * (prefillMs - heldMs);
  }

  private double prefillMs(TestFleet fleet, int slot, int blocks) {
    int tokens = blocks * 16 + 1;
    int cached = Math.min(fleet.depth[slot], blocks) * 16;
    return routing.costs.of(fleet.workers[slot].deployment()).prefillMs(tokens - cached, tokens);
  }
}
