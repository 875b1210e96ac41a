package io.kvasir.cell.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.admission.AdmissionMetrics;
import io.kvasir.admission.AdmissionSettings;
import io.kvasir.admission.AdmissionSettings.ClassSettings;
import io.kvasir.admission.Claim;
import io.kvasir.admission.EngineQueueGate;
import io.kvasir.admission.ServiceClass;
import io.kvasir.admission.Standing;
import io.kvasir.cell.CachedTokens;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;
import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.PlanResult;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.Selection;
import io.kvasir.routing.UnmetNeed;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Which request is taken back for which, against a naive choice. */
final class PreemptionsTest {
  private static final int WORKERS = 3;
  private static final List<ServiceClass> CLASSES = List.of(ServiceClass.values());
  private static final long LONGEST_MILLIS = 600_000;

  private final Random random = new Random(16);
  private final double[] queueMs = new double[WORKERS];
  private final boolean[] known = new boolean[WORKERS];
  private final List<Worker> workers = new ArrayList<>();
  private final List<Sent> all = new ArrayList<>();
  private final List<Sent> notified = new ArrayList<>();
  private final List<Integer> refunds = new ArrayList<>();
  private long now = 1_000_000_000L;

  /** Of the workers that a profile would give a request. */
  private final BitSet slots = new BitSet();

  private final AdmissionSettings settings = settings();
  private final Preemptions preemptions =
      new Preemptions(
          settings, new FakeEngines(), _ -> slots, new AdmissionMetrics(new Metrics(new PrometheusRegistry())),
          () -> now);

  PreemptionsTest() {
    slots.set(0, WORKERS);
    for (int slot = 0; slot < WORKERS; slot++) {
      workers.add(
          new Worker(
              "w" + slot, "w" + slot, URI.create("http://127.0.0.1:1"), 0, 1, slot, Role.BOTH,
              slot == 0 ? Set.of("m", "n") : Set.of("m"), Map.of(), 100, "e", null));
    }
  }

  private static AdmissionSettings settings() {
    Map<ServiceClass, ClassSettings> classes = new EnumMap<>(ServiceClass.class);
    for (ServiceClass each : ServiceClass.values()) {
      classes.put(
          each,
          new ClassSettings(
              Duration.ofMillis(boundMs(each)), Duration.ofMillis(LONGEST_MILLIS), Duration.ofSeconds(60), 10,
              10, 1 << 20, 2));
    }
    return new AdmissionSettings(true, classes, 1000, 2, 0.02, 0.5, Map.of(), Duration.ZERO);
  }

  private static long boundMs(ServiceClass its) {
    return 400 >> CLASSES.indexOf(its);
  }

  private final class FakeEngines implements GateCheck.Engines {
    @Override
    public boolean isCostKnown(Worker worker) {
      return known[worker.slot()];
    }

    @Override
    public double readMs(int slot) {
      return 0;
    }

    @Override
    public double queueMs(Worker worker, String model) {
      return worker.models().contains(model) ? queueMs[worker.slot()] : Double.POSITIVE_INFINITY;
    }

    @Override
    public GateCheck.Places places(Worker one, String model, double mostQueueMs) {
      return new GateCheck.Places(100, 0);
    }
  }

  /** A request at a worker, with all that the naive choice looks at. */
  private final class Sent implements Reservation {
    final Claim claim;
    final Selection.Chosen chosen;
    final boolean streams;
    final long sentNanos = now;
    Decision.@Nullable Planned planned;
    boolean listening;
    boolean answering;
    boolean over;

    Sent(Claim claim, Selection.Chosen chosen, boolean streams) {
      this.claim = claim;
      this.chosen = chosen;
      this.streams = streams;
    }

    Reservation reservation() {
      return Objects.requireNonNull(planned).last().reservation();
    }

    double prefillMs() {
      return chosen.booking().prefillMicros() / 1e3;
    }

    boolean isReading() {
      return streams || (now - sentNanos) / 1e6 < chosen.queueMs() + prefillMs();
    }

    /** What is left of its prompt, as it was read after what was queued before it. */
    double unreadMs() {
      double sinceMs = (now - sentNanos) / 1e6 - chosen.queueMs();
      return Math.max(0, prefillMs() - Math.max(0, sinceMs));
    }

    @Override
    public void firstToken() {}

    @Override
    public void prefillLocally() {}

    @Override
    public void progressed() {}

    @Override
    public void close(Outcome outcome) {}
  }

  private Selection.Chosen chosen(int slot, double prefillMs, double queue) {
    Booking booking = new Booking(1000, 500, Math.max(1, (long) (prefillMs * 1e3)));
    return new Selection.Chosen(
        "p", Role.BOTH, slot, workers.get(slot), List.of(), booking, booking, queue, 0, Chain.EMPTY, 0, 0, WORKERS, 0,
        null, FailurePolicy.NEXT_CANDIDATE, null);
  }

  private static PlanResult found(Selection.Chosen chosen) {
    return new PlanResult.PlanFound(
        new RoutingPlan(
            RoutingPlan.SINGLE_WORKFLOW, RoutingPlan.StepOrder.SEQUENTIAL, List.of(chosen.step(RoutingPlan.WHOLE))),
        List.of(chosen), "r");
  }

  private static DecisionRequest request(Claim claim, String model, boolean streams) {
    return new DecisionRequest(
        "r", model, null, RequestShape.TEXT, new DecisionRequest.Prompt(Chain.EMPTY, 1000), PreparedSlots.EMPTY,
        streams, DecisionRequest.Constraints.NONE, null, claim);
  }

  private GateCheck check(Claim claim, String model, Standing standing) {
    return new GateCheck(new FakeEngines(), List.of(new EngineQueueGate(settings)), model, claim, standing, false);
  }

  private Sent send(
      ServiceClass its, int most, int slot, double prefillMs, double queue, long waited, boolean streams) {
    Claim claim = new Claim(its, "t", 1, null, 1, waited).preemptible(most);
    Selection.Chosen chosen = chosen(slot, prefillMs, queue);
    Sent sent = new Sent(claim, chosen, streams);
    GateCheck check = check(claim, "m", Standing.ALONE);
    boolean _ = check.test(found(chosen));
    Decision.Planned planned =
        new Decision.Planned(
            RoutingPlan.SINGLE_WORKFLOW, RoutingPlan.StepOrder.SEQUENTIAL,
            List.of(
                new Decision.Chosen(chosen.step(RoutingPlan.WHOLE), sent, 0, CachedTokens.NONE, false)),
            "r");
    sent.planned = preemptions.sent(planned, request(claim, "m", streams), check, refunds::add);
    all.add(sent);
    return sent;
  }

  private void listen(Sent sent) {
    sent.listening = true;
    sent.reservation().onPreempt(() -> notified.add(sent));
  }

  /** A request that is held as all are full, or as one worker has so much queued. */
  private GateCheck held(Claim claim, String model, int busySlot, double busyMs) {
    GateCheck check = check(claim, model, Standing.ALONE);
    boolean goes =
        busySlot < 0
            ? check.test(new PlanResult.NoPlan(UnmetNeed.ROOM, ""))
            : check.test(found(chosen(busySlot, 10, busyMs)));
    assertThat(goes).isFalse();
    return check;
  }

  private @Nullable Sent naive(Claim claim, String model, int busySlot, double busyMs) {
    double bound = boundMs(claim.serviceClass());
    double wait = busySlot < 0 ? claim.waitedMillis() : claim.waitedMillis() + busyMs - bound;
    if (wait <= bound) {
      return null;
    }
    return all.stream()
        .filter(sent -> sent.claim.serviceClass().compareTo(claim.serviceClass()) > 0)
        .filter(sent -> sent.claim.preemptions() < sent.claim.mostPreemptions())
        .filter(sent -> sent.listening && !sent.answering && !sent.over)
        .filter(sent -> (now - sent.sentNanos) / 1e6 + sent.claim.waitedMillis() <= LONGEST_MILLIS / 2)
        .filter(
            sent -> {
              int slot = sent.chosen.slot();
              double left = sent.isReading() ? queueMs[slot] - sent.unreadMs() : queueMs[slot];
              return busySlot < 0
                  ? workers.get(slot).models().contains(model) && (!known[slot] || left <= bound)
                  : slot == busySlot && sent.isReading() && busyMs - sent.unreadMs() <= bound;
            })
        .max(Comparator.comparingLong(sent -> sent.sentNanos))
        .orElse(null);
  }

  @Test
  void choice_isTheNaiveOne() {
    int taken = 0;
    for (int round = 0; round < 3000; round++) {
      int slot = random.nextInt(WORKERS);
      now += 1 + random.nextInt(100_000_000);
      Sent sent =
          send(
              CLASSES.get(1 + random.nextInt(3)), random.nextInt(3), slot, random.nextInt(3000),
              random.nextInt(100), random.nextInt(3) == 0 ? random.nextInt(400_000) : 0, random.nextBoolean());
      if (random.nextInt(8) > 0) {
        listen(sent);
      }
      Sent other = all.get(random.nextInt(all.size()));
      if (random.nextInt(3) == 0) {
        other.reservation().firstToken();
        other.answering = true;
      }
      if (all.size() > 12) {
        Sent over = all.remove(random.nextInt(all.size()));
        over.reservation().close(new Outcome.Cancelled());
        over.over = true;
      }
      for (int each = 0; each < WORKERS; each++) {
        queueMs[each] = random.nextInt(3000);
        known[each] = random.nextInt(4) > 0;
      }
      Claim claim = new Claim(CLASSES.get(random.nextInt(4)), "u", 1, null, 1, random.nextInt(600));
      String model = random.nextBoolean() ? "m" : "n";
      int busy = random.nextBoolean() ? -1 : random.nextInt(WORKERS);
      known[Math.max(0, busy)] = true;
      double busyMs = 401 + random.nextInt(3000);
      Sent expected = naive(claim, model, busy, busyMs);
      notified.clear();

      preemptions.new Preemptor(request(claim, model, true)).held(held(claim, model, busy, busyMs));

      if (expected == null) {
        assertThat(notified).isEmpty();
      } else {
        assertThat(notified).containsExactly(expected);
        taken++;
        expected.reservation().close(new Outcome.Preempted());
        all.remove(expected);
      }
    }
    assertThat(taken).as("the test takes some back").isGreaterThan(100);
    assertThat(refunds).hasSize(taken).containsOnly(500);
    all.forEach(sent -> sent.reservation().close(new Outcome.Cancelled()));
    assertThat(preemptions.open()).isZero();
  }

  @Test
  void noMoreAreTakenBackAtOnce_thanWait() {
    for (int i = 0; i < 10; i++) {
      now += 1_000_000;
      listen(send(ServiceClass.BULK, 1, 0, 100, 0, 0, true));
    }
    Claim claim = new Claim(ServiceClass.INTERACTIVE, "u", 1, null, 1, 500);
    Preemptions.Preemptor one = preemptions.new Preemptor(request(claim, "m", true));
    Preemptions.Preemptor two = preemptions.new Preemptor(request(claim, "m", true));
    for (int round = 0; round < 5; round++) {
      one.held(held(claim, "m", -1, 0));
      two.held(held(claim, "m", -1, 0));
    }
    assertThat(notified).containsExactly(all.get(9), all.get(8));

    // One has begun to answer, of the other nothing is heard: others are taken in their place.
    all.get(9).reservation().firstToken();
    one.held(held(claim, "m", -1, 0));
    two.held(held(claim, "m", -1, 0));
    assertThat(notified).hasSize(3).last().isEqualTo(all.get(7));
    now += Preemptions.HOLDER_NANOS;
    two.held(held(claim, "m", -1, 0));
    assertThat(notified).hasSize(4).last().isEqualTo(all.get(8));
  }

  @Test
  void whatWasMadeFree_isNotForLessUrgentOnes_untilTheOneThatWaits_isTried() {
    Sent sent = send(ServiceClass.BULK, 1, 0, 100, 0, 0, true);
    listen(sent);
    Claim claim = new Claim(ServiceClass.DEFAULT, "u", 1, null, 1, 500);
    Preemptions.Preemptor one = preemptions.new Preemptor(request(claim, "m", true));
    assertThat(mayTake(ServiceClass.BULK, 0)).isTrue();
    one.held(held(claim, "m", -1, 0));
    sent.reservation().close(new Outcome.Preempted());

    assertThat(mayTake(ServiceClass.BULK, 0)).isFalse();
    assertThat(mayTake(ServiceClass.BULK, 1)).isTrue();
    assertThat(mayTake(ServiceClass.DEFAULT, 0)).isTrue();
    assertThat(mayTake(ServiceClass.INTERACTIVE, 0)).isTrue();
    one.ended();
    assertThat(mayTake(ServiceClass.BULK, 0)).isTrue();
  }

  @Test
  void whatWasMadeFree_forOneThatLeft_isForAnybodyAfterAWhile() {
    listen(send(ServiceClass.BULK, 1, 0, 100, 0, 0, true));
    Claim claim = new Claim(ServiceClass.DEFAULT, "u", 1, null, 1, 500);
    preemptions.new Preemptor(request(claim, "m", true)).held(held(claim, "m", -1, 0));
    assertThat(mayTake(ServiceClass.BULK, 0)).isFalse();
    now += Preemptions.HOLDER_NANOS;
    assertThat(mayTake(ServiceClass.BULK, 0)).isTrue();
  }

  @Test
  void whatWasMadeFreeSlowly_isKeptAsLong() {
    Sent sent = send(ServiceClass.BULK, 1, 0, 100, 0, 0, true);
    listen(sent);
    Claim claim = new Claim(ServiceClass.DEFAULT, "u", 1, null, 1, 500);
    preemptions.new Preemptor(request(claim, "m", true)).held(held(claim, "m", -1, 0));
    now += Preemptions.HOLDER_NANOS - 1;
    sent.reservation().close(new Outcome.Preempted());
    now += Preemptions.HOLDER_NANOS - 1;
    assertThat(mayTake(ServiceClass.BULK, 0)).isFalse();
    now++;
    assertThat(mayTake(ServiceClass.BULK, 0)).isTrue();
  }

  private boolean mayTake(ServiceClass its, int slot) {
    Claim claim = new Claim(its, "t", 1, null, 1, 0);
    GateCheck check = check(claim, "m", Standing.ALONE);
    assertThat(check.test(found(chosen(slot, 10, 0)))).isTrue();
    return preemptions.mayTake(request(claim, "m", true), check);
  }

  @Test
  void oneRequest_takesBackFew() {
    Claim claim = new Claim(ServiceClass.INTERACTIVE, "u", 1, null, 1, 500);
    Preemptions.Preemptor one = preemptions.new Preemptor(request(claim, "m", true));
    for (int i = 0; i < 10; i++) {
      Sent sent = send(ServiceClass.BULK, 1, 0, 100, 0, 0, true);
      listen(sent);
      one.held(held(claim, "m", -1, 0));
      sent.reservation().close(new Outcome.Preempted());
    }
    assertThat(notified).hasSize(Preemptions.MOST_FOR_ONE);
  }

  /** What the profile would never give it is of no use to it. */
  @Test
  void placeIsTakenBack_onlyWhereTheProfileWouldSendTheRequest() {
    for (int slot : new int[] {1, 0, 2}) {
      now += 1_000_000;
      listen(send(ServiceClass.BULK, 1, slot, 100, 0, 0, true));
    }
    slots.clear(1, WORKERS);
    Claim claim = new Claim(ServiceClass.INTERACTIVE, "u", 1, null, 1, 500);
    preemptions.new Preemptor(request(claim, "m", true)).held(held(claim, "m", -1, 0));
    assertThat(notified).containsExactly(all.get(1));

    slots.clear();
    preemptions.new Preemptor(request(claim, "m", true)).held(held(claim, "m", -1, 0));
    assertThat(notified).hasSize(1);
  }

  /** Its first byte is its last: by then all of it would be lost. */
  @Test
  void answerThatDoesNotStream_isTakenBackOnly_whileLittleOfItIsGenerated() {
    Claim claim = new Claim(ServiceClass.INTERACTIVE, "u", 1, null, 1, 500);
    listen(send(ServiceClass.BULK, 1, 0, 100, 50, 0, false));
    now += 150_000_000 + Preemptions.MOST_LOST_NANOS + 1;
    preemptions.new Preemptor(request(claim, "m", true)).held(held(claim, "m", -1, 0));
    assertThat(notified).isEmpty();

    listen(send(ServiceClass.BULK, 1, 0, 100, 50, 0, false));
    now += 150_000_000 + Preemptions.MOST_LOST_NANOS;
    preemptions.new Preemptor(request(claim, "m", true)).held(held(claim, "m", -1, 0));
    assertThat(notified).containsExactly(all.getLast());
  }

  @Test
  void kept_takesNothingBack() {
    listen(send(ServiceClass.BULK, 1, 0, 100, 0, 0, true));
    Claim claim = new Claim(ServiceClass.INTERACTIVE, "u", 1, null, 1, 500);
    GateCheck check = check(claim, "m", new Standing(false, 1));
    boolean _ = check.test(new PlanResult.NoPlan(UnmetNeed.ROOM, ""));
    preemptions.new Preemptor(request(claim, "m", true)).held(check);
    assertThat(notified).isEmpty();
  }
}
