package io.kvasir.cell.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.admission.AdmissionSettings;
import io.kvasir.admission.AdmissionSettings.ClassSettings;
import io.kvasir.admission.Claim;
import io.kvasir.admission.HoldReason;
import io.kvasir.admission.ServiceClass;
import io.kvasir.admission.Standing;
import io.kvasir.cell.CellSettings;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestPrompts;
import io.kvasir.cell.TestSettings;
import io.kvasir.cell.home.TestCell;
import io.kvasir.cell.ledger.LocalReservations;
import io.kvasir.cell.worker.Member;
import io.kvasir.index.SeenPrefixes;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.cost.EngineCost;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.telemetry.DecisionRecord.CandidateRecord;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Who goes at once and who waits, in a cell of four workers with five places each, and at most 100 ms queued. */
final class CellAdmissionTest {
  private static final int BLOCK = 16;
  private static final int PLACES = 5;
  private static final double BOUND_MS = 100;
  private static final Claim CLAIM = new Claim(ServiceClass.DEFAULT, "t", 1, null, 100, 0);

  private final RandomGenerator random = new SplittableRandom(5);
  private final List<Decision.Planned> running = new ArrayList<>();
  private long now = 1_000_000_000L;
  private final TestCell cell =
      new TestCell(
          settings(), "expected-cost", () -> now,
          IntStream.range(0, 4)
              .mapToObj(i -> TestPods.pod("w" + i).blockSize(BLOCK).maxInFlight(PLACES).build())
              .toList());
  private final CellAdmission admission = Objects.requireNonNull(cell.view().admission());

  private static CellSettings settings() {
    ClassSettings some =
        new ClassSettings(
            Duration.ofMillis((long) BOUND_MS), Duration.ofMinutes(1), Duration.ofMinutes(1), 100, 100, 1 << 20, 0);
    return TestSettings.with(
        new AdmissionSettings(true, TestSettings.ofEveryClass(some), 1000, 2, 0.1, 0.5, Map.of(), Duration.ZERO));
  }

  /** A request whose prompt begins as others of its family do. */
  private static DecisionRequest request(int family, int blocks, @Nullable Claim claim) {
    DecisionRequest.Prompt prompt =
        new DecisionRequest.Prompt(TestPrompts.chain(family, blocks, BLOCK), blocks * BLOCK + 1);
    return new DecisionRequest(
        "r", "m", null, RequestShape.TEXT, prompt, PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE, null,
        claim);
  }

  /** Decides whatever is queued. */
  private Decision.Planned send(DecisionRequest request) {
    Decision.Planned planned = (Decision.Planned) cell.view().decide(request);
    running.add(planned);
    return planned;
  }

  private @Nullable Decision attempt(DecisionRequest request, GateCheck check) {
    return admission.tryAtOnce(request, CLAIM, true, check);
  }

  private GateCheck check(DecisionRequest request, Standing standing) {
    return admission.check(request, CLAIM, standing);
  }

  private Member member(String worker) {
    return cell.members().stream().filter(each -> each.worker().id().equals(worker)).findAny().orElseThrow();
  }

  private static double leftMs(Member member) {
    return member.load().queueMs() - member.readMs();
  }

  private double prefillMs(CandidateRecord candidate, int blocks) {
    EngineCost cost = cell.profiles().costs().of(member(candidate.worker()).worker().deployment());
    int tokens = blocks * BLOCK + 1;
    return cost.prefillMs(tokens - Math.min(candidate.depth(), blocks) * BLOCK, tokens);
  }

  /** No request waits for a busy worker while one with room is expected to begin it earlier, at the profile's price. */
  @Test
  void requestWaits_onlyWhereNobodyBeginsItEarlier() {
    int held = 0;
    int moved = 0;
    int went = 0;
    for (int round = 0; round < 1_000; round++) {
      change();
      int blocks = random.nextInt(1, 500);
      DecisionRequest request = request(family(), blocks, CLAIM);
      DecisionRecord picked = cell.view().explain(request.claiming(null));
      List<CandidateRecord> candidates =
          picked.passes().getFirst().candidates().stream().filter(each -> each.removedBy() == null).toList();
      String first = picked.passes().getFirst().chosen();
      if (first == null) {
        continue;
      }
      boolean busy = leftMs(member(first)) > BOUND_MS;
      List<String> earlier =
          busy
              ? candidates.stream()
                  .filter(each -> beginsEarlier(each, first, candidates, blocks))
                  .map(CandidateRecord::worker)
                  .toList()
              : List.of();
      GateCheck check = check(request, Standing.ALONE);
      Decision decision = attempt(request, check);

      if (!busy) {
        assertThat(total(candidates, worker(decision))).as("among equals any").isEqualTo(total(candidates, first));
        went++;
      } else if (earlier.isEmpty()) {
        assertThat(decision).as("round %d", round).isNull();
        assertThat(check.holdReason()).isEqualTo(HoldReason.BUSY);
        assertThat(Objects.requireNonNull(check.onlyChosen()).worker().id()).isEqualTo(first);
        held++;
      } else {
        assertThat(worker(decision)).as("round %d", round).isIn(earlier);
        assertThat(Objects.requireNonNull((Decision.Planned) decision).reason()).contains("; busy=" + first);
        moved++;
      }
      if (decision instanceof Decision.Planned planned) {
        running.add(planned);
      }
      assertThat(cell.members().stream().mapToInt(each -> each.load().inFlight()).sum()).isEqualTo(running.size());
    }
    assertThat(held).as("some wait").isGreaterThan(10);
    assertThat(moved).as("some go elsewhere").isGreaterThan(10);
    assertThat(went).as("some go at once").isGreaterThan(10);
  }

  private static String worker(@Nullable Decision decision) {
    assertThat(decision).isInstanceOf(Decision.Planned.class);
    return ((Decision.Planned) Objects.requireNonNull(decision)).last().worker().id();
  }

  private static double total(List<CandidateRecord> candidates, String worker) {
    return candidates.stream().filter(each -> each.worker().equals(worker)).findAny().orElseThrow().total();
  }

  private boolean beginsEarlier(
      CandidateRecord other, String first, List<CandidateRecord> candidates, int blocks) {
    CandidateRecord picked =
        candidates.stream().filter(each -> each.worker().equals(first)).findAny().orElseThrow();
    double pickedMs = prefillMs(picked, blocks);
    double otherMs = prefillMs(other, blocks);
    double left = leftMs(member(other.worker()));
    double saved = leftMs(member(first)) + pickedMs - left - otherMs;
    double copies =
        (price(other, candidates) - 1) * otherMs - (price(picked, candidates) - 1) * pickedMs;
    return left <= BOUND_MS && saved > 0 && saved > copies;
  }

  /** The price of computing by the profile's formula. */
  private double price(CandidateRecord worker, List<CandidateRecord> candidates) {
    double queuedSeconds = candidates.stream().mapToDouble(CandidateRecord::queueMs).average().orElse(0) / 1e3;
    double loss = Math.min(0.95, cell.view().fleet().table().index().evictionLosses()[worker.slot()]);
    return 3 + 4 * queuedSeconds + 4 * loss * loss / (1 - loss);
  }

  /** Most prompts are new, some have been read somewhere. */
  private int family() {
    return random.nextInt(4) == 0 ? random.nextInt(12) : 1_000 + random.nextInt(1_000_000);
  }

  /** Other requests than before are at the workers: some have been read, and some wait to be. */
  private void change() {
    // An answer that ends well would teach what prompts cost.
    running.forEach(each -> each.last().reservation().close(new Outcome.Cancelled()));
    running.clear();
    for (Member each : cell.members()) {
      int some = random.nextInt(PLACES + 1);
      int read = random.nextInt(some + 1);
      for (int i = 0; i < some; i++) {
        now += random.nextInt(10_000_000);
        Decision.Planned sent = send(to(each, request(family(), random.nextInt(1, 900), null)));
        if (i < read) {
          sent.last().reservation().firstToken();
        }
      }
    }
  }

  private DecisionRequest to(Member only, DecisionRequest request) {
    Set<String> others =
        cell.members().stream()
            .filter(each -> !each.equals(only))
            .map(each -> each.worker().id())
            .collect(Collectors.toSet());
    return new DecisionRequest(
        "r", "m", null, request.shape(), request.prompt(), request.prepared(), true,
        DecisionRequest.Constraints.excluding(others));
  }

  /** A place that is kept is one where a request could go now. */
  @Test
  void placeIsKept_whereARequestWouldBegin() {
    // Of 20 places with the share of 0.1 one is kept for one rival. Three workers read long prompts.
    IntStream.range(0, 3).forEach(family -> send(request(family, 3_000, null)));
    Member open =
        cell.members().stream().filter(each -> each.load().inFlight() == 0).findAny().orElseThrow();
    for (int i = 0; i < PLACES - 1; i++) {
      Decision.Planned planned = send(request(100 + i, 1, null));
      assertThat(planned.last().worker().id()).isEqualTo(open.worker().id());
      planned.last().reservation().firstToken();
    }
    DecisionRequest heavy = request(200, 1, CLAIM);
    GateCheck kept = check(heavy, new Standing(false, 1));
    assertThat(attempt(heavy, kept)).isNull();
    assertThat(kept.holdReason()).isEqualTo(HoldReason.KEPT);

    DecisionRequest light = request(201, 1, CLAIM);
    assertThat(worker(attempt(light, check(light, Standing.ALONE)))).isEqualTo(open.worker().id());
  }

  /** For those that may take places back: of full workers, too, those which the profile has in view. */
  @Test
  void slotsWithAPlaceMore_areThoseOfTheProfile() {
    Member only = cell.members().getFirst();
    for (Member each : cell.members()) {
      for (int i = 0; i < PLACES; i++) {
        send(to(each, request(family(), 1, null)));
      }
    }
    CellDecider decider =
        new CellDecider(
            "m", cell.view()::fleet, cell.profiles(), DecisionLog.off(new Metrics(new PrometheusRegistry())),
            new LocalReservations(() -> {
              throw new IllegalStateException("the cell does not move");
            }),
            new SeenPrefixes(64), new PromptBlockSize(), null);
    assertThat(decider.slotsWithAPlaceMore(request(1, 10, CLAIM)).cardinality()).isEqualTo(4);
    assertThat(decider.slotsWithAPlaceMore(to(only, request(1, 10, CLAIM))))
        .isEqualTo(BitSet.valueOf(new long[] {1L << only.worker().slot()}));
    assertThat(cell.members().stream().mapToInt(each -> each.load().inFlight()).sum()).isEqualTo(4 * PLACES);
  }

  /** What is dry-run is what would be done. */
  @Test
  void explanation_saysWhereTheRequestGoesInstead() {
    for (int round = 0; round < 200; round++) {
      change();
      DecisionRequest request = request(family(), 200, CLAIM);
      String explained = cell.view().explain(request).reason();
      if (attempt(request, check(request, Standing.ALONE)) instanceof Decision.Planned planned) {
        running.add(planned);
        assertThat(planned.reason()).startsWith(explained);
      }
    }
  }
}
