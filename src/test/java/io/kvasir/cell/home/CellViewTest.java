package io.kvasir.cell.home;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.kvasir.cell.CachedTokens;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.HitOutcome;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.PrefixHold;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestPrompts;
import io.kvasir.cell.TestSettings;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.events.EventApplier;
import io.kvasir.cell.events.EventState;
import io.kvasir.cell.ledger.CorrelationIds;
import io.kvasir.cell.ledger.InFlightLoad;
import io.kvasir.cell.ledger.LeasedReservations;
import io.kvasir.cell.ledger.ReservationEvent;
import io.kvasir.cell.view.CellView;
import io.kvasir.cell.view.DecisionReply;
import io.kvasir.cell.view.DecisionServer;
import io.kvasir.cell.worker.HitPrediction;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.MemberDescription;
import io.kvasir.cell.worker.SendOrder;
import io.kvasir.cell.worker.ServedRequest;
import io.kvasir.events.EventFeed;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.events.SnapshotFormat;
import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;
import io.kvasir.index.Prediction;
import io.kvasir.index.Tier;
import io.kvasir.index.WorkerBlocks;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.Deployment;
import io.kvasir.routing.cost.LearntCost;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionLogSettings;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Decisions against a cell of four workers: what they predict, and what becomes of it. */
@Tag("lock-free")
final class CellViewTest {
  private static final ServedRequest ANY = new ServedRequest(null, "m", true, null);
  private static final int BLOCK = 16;
  private static final int PROMPT = 64 * BLOCK + 5;

  private static final List<EventFeed> FEEDS = List.of(new EventFeed.Push(""));

  private long now = 1_000_000_000L;

  /** What happens once while a decision is under way. */
  private @Nullable Runnable meanwhile;

  private CostModel costs = CostModel.bundled();
  private DecisionLog log = DecisionLog.off(new Metrics(new PrometheusRegistry()));
  private Members members = members();

  private Members members() {
    return members((_, _, _, _) -> {
      throw new IllegalStateException("no other node has requests here");
    });
  }

  private Members members(DecisionServer.Holders holders) {
    log = new DecisionLog(new DecisionLogSettings(null, 1, 100), new Metrics(new PrometheusRegistry()));
    CellServices services =
        TestServices.deciding("expected-cost").clock(this::nanos).decisions(log).holders(holders).build();
    costs = services.profiles().costs();
    // Short answers: what many contexts cost each other in decoding would be a reason of its own to spread.
    IntStream.range(0, 400).forEach(_ -> services.profiles().outputs().observe("m", 1));
    return new Members("m", services);
  }

  /** The clock, which is first asked when a worker has been chosen. */
  private long nanos() {
    Runnable due = meanwhile;
    meanwhile = null;
    if (due != null) {
      due.run();
    }
    return now;
  }

  @BeforeEach
  void seat() {
    seat(16, FEEDS);
  }

  private void seat(int maxInFlight, List<EventFeed> events) {
    for (int i = 0; i < 4; i++) {
      PodSpec pod =
          TestPods.pod("w" + i)
              .blockSize(BLOCK)
              .maxInFlight(maxInFlight)
              .events(events)
              .build();
      var _ = TestCell.admit(members, pod);
    }
  }

  private static Chain chain(int seed, int blocks) {
    return TestPrompts.chain(seed, blocks, BLOCK);
  }

  private Decision.Planned plan(Chain chain) {
    return plan(chain, RequestShape.INDIVISIBLE);
  }

  private Decision.Planned plan(Chain chain, RequestShape shape) {
    return plan(chain, shape, true);
  }

  private Decision.Planned plan(Chain chain, RequestShape shape, boolean stream) {
    return plan(chain, shape, stream, DecisionRequest.Constraints.NONE);
  }

  private Decision.Planned plan(
      Chain chain, RequestShape shape, boolean stream, DecisionRequest.Constraints constraints) {
    Decision decision =
        members.view().decide(
            new DecisionRequest(
                "r", "m", null, shape, new DecisionRequest.Prompt(chain, PROMPT),
                PreparedSlots.EMPTY, stream, constraints));
    assertThat(decision).isInstanceOf(Decision.Planned.class);
    return (Decision.Planned) decision;
  }

  private Decision.Chosen decide(Chain chain) {
    return plan(chain).last();
  }

  private Member member(Decision.Chosen chosen) {
    return members.all().stream().filter(m -> m.worker().equals(chosen.worker())).findAny().orElseThrow();
  }

  private int predicted() {
    return members.all().stream().mapToInt(member -> member.cache().blocks().predicted()).sum();
  }

  private void tick() {
    members.all().forEach(member -> member.cache().expire(now));
  }

  @Test
  void firstToken_ofAStreamThatEndsWell_teachesWhatPromptsCost() {
    for (int i = 0; i < 50; i++) {
      Decision.Chosen chosen = decide(chain(i, 64));
      chosen.reservation().firstToken();
      chosen.reservation().close(new Outcome.Completed(PROMPT, 0, 10, 2_000_000));
    }

    assertThat(costs.learnt().values()).singleElement().extracting(LearntCost::samples).isEqualTo(50L);
    LearntCost learnt = costs.learnt().values().iterator().next();
    assertThat(members.view().workers()).isNotEmpty().extracting(worker -> worker.load().cost()).containsOnly(
        new WorkerStatus.PrefillCost(learnt.cost().msPerToken(), learnt.cost().msPerPair(), 50));
    Deployment deployment = new Deployment("h100-Qwen2.5-7B-tp1", "m");
    assertThat(costs.of(deployment).prefillMs(PROMPT, PROMPT))
        .isGreaterThan(5 * CostModel.bundled().of(deployment).prefillMs(PROMPT, PROMPT));
  }

  @Test
  void promptOfAWholeAnswer_isTakenToBeReadAfterItsTime() {
    Decision.Chosen whole = plan(chain(1, 64), RequestShape.INDIVISIBLE, false).last();
    Member worker = member(whole);
    double queued = worker.load().queueMs();
    assertThat(worker.readMs()).isZero();

    now += (long) (queued * 1e6 / 2);
    assertThat(worker.readMs()).isCloseTo(queued / 2, within(0.01));
    now += 1_000_000_000L;
    assertThat(worker.readMs()).isEqualTo(queued).isEqualTo(worker.load().queueMs());

    whole.reservation().close(new Outcome.Completed(PROMPT, 0, 10, 1000));
    assertThat(worker.readMs()).isZero();
  }

  @Test
  void promptOfAStream_isReadAtItsFirstToken_andTakenToBeUnderWayBefore() {
    Decision.Chosen stream = plan(chain(1, 64), RequestShape.INDIVISIBLE, true).last();
    double queued = member(stream).load().queueMs();
    assertThat(member(stream).readMs()).isZero();
    now += (long) (queued * 1e6 / 4);
    assertThat(member(stream).readMs()).isCloseTo(queued / 4, within(0.01));
    assertThat(member(stream).load().queueMs()).isEqualTo(queued);
    stream.reservation().firstToken();
    assertThat(member(stream).load().queueMs()).isZero();
  }

  /** Of a load from before the cell came here nobody tells whether its first token will be seen. */
  @Test
  void adoptedPrompt_isTakenToBeRead_untilItsFirstTokenOrEndIsSeen() {
    Member worker = members.all().getFirst();
    InFlightLoad load = new InFlightLoad(7, worker.worker().id(), "m", PROMPT, PROMPT, true, false);
    Reservation whole = Objects.requireNonNull(members.adopt(load));
    Reservation stream = Objects.requireNonNull(members.adopt(load));
    assertThat(whole.prefixHold()).as("what it counts on").isEqualTo(PrefixHold.UNKNOWN);
    double queued = worker.load().queueMs();
    assertThat(worker.readMs()).isZero();

    now += 3_600_000_000_000L;
    assertThat(queued - worker.readMs()).isZero();
    stream.firstToken();
    assertThat(worker.load().queueMs()).isEqualTo(queued / 2).isEqualTo(worker.readMs());
    whole.close(new Outcome.Completed(PROMPT, 0, 10, 1000));
    stream.close(new Outcome.Completed(PROMPT, 0, 10, 1000));
    assertThat(worker.readMs()).isZero();
  }

  /** What was read is no longer queued, so that it is not to be taken off what is. */
  @Test
  void answerAsAWhole_whoseBeginningWasSeen_isReadThen() {
    Decision.Chosen whole = plan(chain(1, 64), RequestShape.INDIVISIBLE, false).last();
    now += 3_600_000_000_000L;
    whole.reservation().firstToken();
    assertThat(member(whole).readMs()).isZero();
    whole.reservation().close(new Outcome.Completed(PROMPT, 0, 10, 1000));
    assertThat(member(whole).readMs()).isZero();
    assertThat(member(whole).load().queueMs()).isZero();
  }

  @Test
  void severalPrompts_promiseNothingAndProveNothing() {
    Decision.Chosen holder = decide(chain(1, 64));
    holder.reservation().close(new Outcome.Completed(PROMPT, 0, 10, 1000));
    for (int i = 0; i < 20; i++) {
      Decision.Chosen chosen = plan(chain(1, 64), RequestShape.BATCH).last();

      assertThat(chosen.worker()).as("where its first prompt is").isEqualTo(holder.worker());
      assertThat(chosen.cached().predicted()).isZero();
      assertThat(chosen.cached().confirmed()).isZero();
      chosen.reservation().firstToken();
      chosen.reservation().close(new Outcome.Completed(3 * PROMPT, 0, 10, 2_000_000));
    }

    assertThat(member(holder).accuracy().trust()).isEqualTo(1);
    assertThat(costs.learnt()).isEmpty();
    assertThat(members.view().workers()).extracting(worker -> worker.load().cost()).containsOnlyNulls();
  }

  @Test
  void anyRankOfAPod_promisesNothingAndProvesNothing() {
    members.all().forEach(member -> member.drain(true));
    PodSpec pod = TestPods.pod("ranked").ranks(2).blockSize(BLOCK).events(FEEDS).build();
    List<Member> ranks = TestCell.admit(members, pod);
    Decision.Chosen holder = decide(chain(1, 64));
    holder.reservation().close(new Outcome.Completed(PROMPT, 0, 10, 1000));
    int before = predicted();
    for (int i = 0; i < 20; i++) {
      RequestShape shape = new RequestShape(true, 0, false, true, false);
      Decision.Chosen chosen = plan(chain(1, 64), shape).last();

      assertThat(chosen.depth()).isZero();
      assertThat(chosen.cached().predicted()).isZero();
      chosen.reservation().firstToken();
      chosen.reservation().close(new Outcome.Completed(PROMPT, i % 2 == 0 ? 0 : PROMPT - 1, 10, 1000));
    }

    assertThat(predicted()).as("of a rank that may not be the one").isEqualTo(before);
    assertThat(ranks).allMatch(member -> member.accuracy().trust() == 1);
    assertThat(decide(chain(1, 64)).worker()).isEqualTo(holder.worker());
  }

  /** Those that count on its blocks are sent after it. */
  @Test
  void request_isAwaitedUntilItIsSentOrEnds() throws InterruptedException {
    Decision.Chosen first = decide(chain(1, 64));
    Decision.Chosen second = decide(chain(1, 64));
    assertThat(second.worker()).isEqualTo(first.worker());
    assertThat(second.depth()).as("of which the engine has confirmed nothing").isEqualTo(64);
    SendOrder.Place third = member(first).sendOrder().add(chain(1, 64));

    assertThat(third.awaitEarlier(0, 0)).isFalse();
    first.reservation().sent();
    assertThat(third.awaitEarlier(0, 0)).as("the second is not sent").isFalse();
    second.reservation().close(new Outcome.Cancelled());
    assertThat(third.awaitEarlier(0, 0)).isTrue();
  }

  /** SGLang computes two prompts of one batch beside each other: one that counts on another is sent after that. */
  @Test
  void request_isAwaitedUntilItsPromptIsComputed_whereBlocksAreSharedOnlyThen() throws InterruptedException {
    Decision.Chosen first = decide(chain(1, 64));
    connectSglang(member(first));
    Decision.Chosen second = decide(chain(1, 64));
    assertThat(second.worker()).isEqualTo(first.worker());
    SendOrder.Place third = member(first).sendOrder().add(chain(1, 64));
    first.reservation().sent();
    second.reservation().sent();
    assertThat(third.awaitEarlier(0, 0)).as("neither is computed").isFalse();

    Thread waiting = Thread.ofVirtual().start(() -> second.reservation().awaitEarlier(() -> false));
    assertThat(waiting.join(Duration.ofMillis(30))).as("it does not wait any more").isFalse();
    first.reservation().firstToken();
    waiting.join();
    assertThat(third.awaitEarlier(0, 0)).as("the second is not computed").isFalse();
    second.reservation().close(new Outcome.Cancelled());
    assertThat(third.awaitEarlier(0, 0)).isTrue();
  }

  /** Nobody sees the first token of an answer that comes whole, but its engine reports the blocks. */
  @Test
  void request_isAwaitedUntilItsBlocksAreReported_orItIsCancelled() throws InterruptedException {
    Decision.Chosen first = decide(chain(1, 64));
    connectSglang(member(first));
    Decision.Chosen second = decide(chain(1, 64));
    first.reservation().sent();
    second.reservation().awaitEarlier(() -> true);

    Thread waiting = Thread.ofVirtual().start(() -> second.reservation().awaitEarlier(() -> false));
    assertThat(waiting.join(Duration.ofMillis(30))).as("it does not wait any more").isFalse();
    long[] hashes = chain(1, 64).hashes();
    member(first).cache().blocks().store(0, true, hashes, hashes, hashes.length, Tier.DEVICE, true);
    waiting.join();
    assertThat(member(first).cache().reported(chain(1, 64))).isEqualTo(64);
  }

  /** A full engine evicts the rest of a prompt for those before it on their way, and nothing where none are. */
  @Test
  void blocksThatAreNextToBeEvicted_areNotPromised_whereOthersAreOnTheirWay() {
    Member worker = members.all().getFirst();
    long[] hashes = chain(1, 64).hashes();
    WorkerBlocks blocks = worker.cache().blocks();
    blocks.store(0, true, hashes, hashes, hashes.length, Tier.DEVICE, true);
    evict(blocks, hashes, 40);
    assertThat(depthAt(worker)).as("nothing is on its way").isEqualTo(40);

    Prediction coming = blocks.predict(chain(2, 30).hashes(), Long.MAX_VALUE);
    assertThat(depthAt(worker)).as("30 blocks are").isEqualTo(10);
    Prediction more = blocks.predict(chain(3, 30).hashes(), Long.MAX_VALUE);
    assertThat(depthAt(worker)).isZero();
    more.retract();
    assertThat(depthAt(worker)).isEqualTo(10);

    long[] others = chain(4, 2).hashes();
    blocks.store(0, true, others, others, others.length, Tier.DEVICE, true);
    evict(blocks, others, 1);
    assertThat(depthAt(worker)).as("another prompt is next").isEqualTo(40);
    evict(blocks, Arrays.copyOf(hashes, 40), 30);
    assertThat(depthAt(worker)).isZero();
    coming.retract();
    assertThat(depthAt(worker)).isEqualTo(30);
  }

  /** Evicts a prompt from its end. */
  private static void evict(WorkerBlocks blocks, long[] hashes, int left) {
    for (int i = hashes.length - 1; i >= left; i--) {
      blocks.remove(new long[] {hashes[i]}, 1, Tier.DEVICE, true);
    }
  }

  /** How deep the first prompt is believed to be held at a worker, in a decision that is taken back. */
  private int depthAt(Member worker) {
    Decision.Planned plan = plan(chain(1, 64), RequestShape.INDIVISIBLE, true, only(worker));
    plan.close(new Outcome.Cancelled());
    return plan.last().depth();
  }

  /** A request of another node: that finds out until when it is held. */
  @Test
  void request_isHeldUntilWhatItCountsOnIsComputed() {
    Decision.Chosen first = decide(chain(1, 64));
    assertThat(first.reservation().prefixHold()).as("the first of its prompt").isEqualTo(PrefixHold.NONE);
    Decision.Chosen second = decide(chain(1, 64));
    assertThat(second.reservation().prefixHold()).as("without events").isEqualTo(PrefixHold.NONE);
    connectSglang(member(first));
    first.reservation().sent();

    assertThat(first.reservation().prefixHold()).isEqualTo(PrefixHold.NONE);
    assertThat(second.reservation().prefixHold()).isEqualTo(PrefixHold.HELD);
    assertThat(decide(chain(2, 64)).reservation().prefixHold()).as("another prompt").isEqualTo(PrefixHold.NONE);
    first.reservation().close(new Outcome.Cancelled());
    assertThat(second.reservation().prefixHold()).isEqualTo(PrefixHold.NONE);
  }

  /** Two requests of other nodes, at an engine that shares blocks at once: those nodes know when they send them. */
  @Test
  void request_isHeldUntilWhatItCountsOnIsSent_whereverThatIs() {
    Decision.Chosen first = decide(chain(1, 64));
    connectVllm(member(first));
    List<String> inquiries = new ArrayList<>();
    first.reservation().onAwaited(() -> inquiries.add("first"));
    assertThat(first.reservation().prefixHold()).as("the first of its prompt").isEqualTo(PrefixHold.NONE);
    Decision.Chosen second = decide(chain(1, 64));
    assertThat(second.reservation().prefixHold()).isEqualTo(PrefixHold.HELD);
    assertThat(second.reservation().prefixHold()).isEqualTo(PrefixHold.HELD);
    assertThat(inquiries).containsExactly("first");
    Decision.Chosen third = decide(chain(1, 64));
    assertThat(third.reservation().prefixHold()).isEqualTo(PrefixHold.HELD);
    second.reservation().onAwaited(() -> inquiries.add("second"));
    assertThat(inquiries).as("the second one is awaited already").containsExactly("first", "second");

    first.reservation().sent();
    assertThat(second.reservation().prefixHold()).isEqualTo(PrefixHold.NONE);
    assertThat(third.reservation().prefixHold()).as("the second is not sent").isEqualTo(PrefixHold.HELD);
    now += TimeUnit.MILLISECONDS.toNanos(20);
    assertThat(third.reservation().prefixHold()).as("its node does not answer").isEqualTo(PrefixHold.OVERDUE);
    second.reservation().sent();
    assertThat(third.reservation().prefixHold()).isEqualTo(PrefixHold.NONE);
    assertThat(decide(chain(2, 64)).reservation().prefixHold()).as("another prompt").isEqualTo(PrefixHold.NONE);
  }

  @Test
  void requestOfAnotherNode_isInTheOrder_andItsNodeReportsThatItIsSent() {
    List<String> inquiries = new ArrayList<>();
    members = members((node, _, reservation, notice) -> inquiries.add(node + reservation + notice));
    seat(4, FEEDS);
    DecisionServer server = members.view().decisionServer();
    DecisionReply first = server.decide(request(chain(1, 64)), "other", 7);
    members.all().forEach(CellViewTest::connectVllm);
    Decision.Chosen second = decide(chain(1, 64));
    assertThat(second.reservation().awaitEarlier(() -> false)).as("nobody reports").isEqualTo(PrefixHold.OVERDUE);

    assertThat(first.steps()).hasSize(1);
    long id = CorrelationIds.reservation(7, 0);
    assertThat(inquiries).containsExactly("other" + id + "REPORT_SENT");
    server.leased().apply("other", ReservationEvent.sent(id));
    assertThat(second.reservation().awaitEarlier(() -> false)).isEqualTo(PrefixHold.NONE);
  }

  @Test
  void requestInFlight_ofWhicheverNode_theCellIsNotIdle_alsoWhenItsWorkerHasLeft() {
    CellView view = members.view();
    assertThat(view.isIdle()).isTrue();
    Decision.Chosen own = decide(chain(1, 64));
    members.all().forEach(members::retire);
    assertThat(view.isIdle()).isFalse();
    own.reservation().close(new Outcome.Cancelled());
    assertThat(view.isIdle()).isTrue();

    LeasedReservations leased = view.decisionServer().leased();
    leased.adopt("other", new InFlightLoad(7, "not yet known", "m", PROMPT, PROMPT, true, false), members::adopt);
    assertThat(view.isIdle()).isFalse();
    leased.closeAllOf("other");
    assertThat(view.isIdle()).isTrue();
  }

  @Test
  void reservationOfAnotherNode_theCellIsNotIdle_untilItsEnd() {
    DecisionServer server = members.view().decisionServer();
    assertThat(server.decide(request(chain(1, 64)), "other", 7).steps()).hasSize(1);
    assertThat(members.view().isIdle()).isFalse();
    server.abandon("other", 7);
    assertThat(members.view().isIdle()).isTrue();
  }

  /** As by a plugin's fault: the cell goes on. */
  @Test
  void decisionForAnotherNode_thatFails_isOneWithoutAWorker() {
    DecisionServer server = members.view().decisionServer();
    meanwhile = () -> {
      throw new IllegalStateException("a plugin's");
    };
    assertThat(server.decide(request(chain(1, 64)), "other", 7).noWorkerReason())
        .isEqualTo(Decision.NoWorkerReason.NO_HOME);

    assertThat(server.decide(request(chain(1, 64)), "other", 7).steps()).hasSize(1);
  }

  private static DecisionRequest request(Chain chain) {
    return new DecisionRequest(
        "r", "m", null, RequestShape.INDIVISIBLE, new DecisionRequest.Prompt(chain, PROMPT), PreparedSlots.EMPTY, true,
        DecisionRequest.Constraints.NONE);
  }

  /** A request of the cell's own node waits for one of another node, and inquires there. */
  @Test
  void request_waitsForOneOfAnotherNode() {
    Decision.Chosen first = decide(chain(1, 64));
    connectVllm(member(first));
    first.reservation().onAwaited(() -> first.reservation().sent());
    Decision.Chosen second = decide(chain(1, 64));
    assertThat(second.reservation().awaitEarlier(() -> false)).isEqualTo(PrefixHold.COMPUTED);
    assertThat(second.reservation().prefixHold()).as("the first is sent").isEqualTo(PrefixHold.NONE);
    assertThat(second.reservation().awaitEarlier(() -> false)).isEqualTo(PrefixHold.NONE);
  }

  @Test
  void request_goesWithoutOneThatIsNotSent() {
    Decision.Chosen first = decide(chain(1, 64));
    connectVllm(member(first));
    Decision.Chosen second = decide(chain(1, 64));
    assertThat(second.reservation().awaitEarlier(() -> false)).isEqualTo(PrefixHold.OVERDUE);
  }

  /** An engine that answers nobody is taken to stand still after a while; then nobody is held for it, either. */
  @Test
  void request_isHeldNoLongerThanTheWorkerMayTakeForWhatWasBeforeIt() {
    Decision.Chosen first = decide(chain(1, 64));
    connectSglang(member(first));
    Decision.Chosen second = decide(chain(1, 64));
    assertThat(second.reservation().prefixHold()).isEqualTo(PrefixHold.HELD);

    now += TestSettings.WEDGE.silence().toNanos() - 1;
    assertThat(second.reservation().prefixHold()).isEqualTo(PrefixHold.HELD);
    now += 1;
    assertThat(second.reservation().prefixHold()).isEqualTo(PrefixHold.OVERDUE);
    assertThat(second.reservation().awaitEarlier(() -> false)).isEqualTo(PrefixHold.OVERDUE);
  }

  @Test
  void engineOfWhichItIsKnown_sharesBlocksOnceComputed_beforeItsEventsShowIt() {
    members = members();
    seat(16, List.of(
        new EventFeed.Zmq("tcp://h:5557", null, "", false, false, true, List.of(), SnapshotFormat.NONE)));
    Member member = member(decide(chain(1, 64)));
    EventState.Ignored none = EventState.START.ignored();
    member.cache().events(new EventState(-1, -1, true, 0, 1, false, 0, 0, 0, 0, 0, none));

    assertThat(member.cache().sharesOnceComputed()).isTrue();
    assertThat(decide(chain(1, 64)).reservation().prefixHold()).isEqualTo(PrefixHold.HELD);
  }

  private static void connectSglang(Member member) {
    connect(member, true);
  }

  private static void connectVllm(Member member) {
    connect(member, false);
  }

  private static void connect(Member member, boolean onceComputed) {
    EventState.Ignored none = EventState.START.ignored();
    member.cache().events(new EventState(7, -1, true, BLOCK, 1, onceComputed, 0, 1, 0, 0, 0, none));
  }

  /** Before the first event of an engine, too: else the first requests of a cold fleet overtake each other. */
  @Test
  void worker_confirmsPredictions_fromTheMomentItsEventsAreConnected() {
    Member member = members.all().getFirst();
    assertThat(member.cache().confirmsPredictions()).as("not connected").isFalse();

    EventState.Ignored none = EventState.START.ignored();
    member.cache().events(new EventState(-1, -1, true, 0, 1, false, 0, 0, 0, 0, 0, none));
    assertThat(member.cache().confirmsPredictions()).as("connected, and nothing has come").isTrue();

    member.cache().events(new EventState(7, 1_000, true, 16, 1, false, 0, 3, 0, 0, 0, none));
    assertThat(member.cache().confirmsPredictions()).as("some were lost").isFalse();
  }

  /** Its events would confirm neither: what they tell is of prompts under no salt. */
  @Test
  void saltedPrompts_ofWorkersWhoseEventsTellNoSalts_areNotPredicted() {
    members = members();
    seat(16, List.of(new EventFeed.TensorRt(null, Duration.ofMillis(20))));

    for (int i = 0; i < 20; i++) {
      Decision.Chosen chosen = plan(chain(1, 64), RequestShape.TEXT.underSalt()).last();
      assertThat(chosen.cached().predicted()).isZero();
      chosen.reservation().firstToken();
      chosen.reservation().close(new Outcome.Completed(PROMPT, PROMPT - 1, 10, 1000));
    }
    assertThat(predicted()).isZero();
    PodSpec pod = members.all().getFirst().pod();
    assertThat(pod.hides("an-adapter", false)).isTrue();
    assertThat(pod.withEvents(FEEDS).hides("an-adapter", true)).isFalse();
    EventFeed feed = new EventFeed.Zmq("tcp://h:5557", null, "", false, true, false, List.of(), SnapshotFormat.NONE);
    PodSpec plain = pod.withEvents(List.of(feed));
    assertThat(plain.hides("an-adapter", false)).isTrue();
    assertThat(plain.hides(pod.models().iterator().next(), true)).isTrue();
    assertThat(plain.hides(pod.models().iterator().next(), false)).isFalse();

    decide(chain(1, 64)).reservation().close(new Outcome.Completed(PROMPT, 0, 10, 1000));
    assertThat(predicted()).isEqualTo(64);
  }

  @Test
  void anyRankOfTheOnlyOne_isThatOne() {
    Decision.Chosen holder = decide(chain(1, 64));
    holder.reservation().close(new Outcome.Completed(PROMPT, 0, 10, 1000));

    Decision.Chosen chosen = plan(chain(1, 64), new RequestShape(true, 0, false, true, false)).last();

    assertThat(chosen.worker()).isEqualTo(holder.worker());
    assertThat(chosen.cached().predicted()).isPositive();
  }

  /** A policy that does not look at caches takes turns: what it costs in computed tokens is told. */
  @Test
  void anotherWorkerHoldsMore_decisionTellsHowMuch() {
    String holder = decide(chain(1, 64)).worker().id();

    DecisionRequest request = request("x", "round-robin", chain(1, 64));
    Decision.Planned elsewhere = (Decision.Planned) members.view().decide(request);
    if (elsewhere.last().worker().id().equals(holder)) {
      assertThat(elsewhere.last().cached().avoidable()).isZero();
      assertThat(elsewhere.reason()).doesNotContain("best=");
      elsewhere = (Decision.Planned) members.view().decide(request);
    }

    assertThat(elsewhere.last().cached()).isEqualTo(new CachedTokens(0, 0, 64 * BLOCK, 64 * BLOCK));
    assertThat(elsewhere.reason()).isEqualTo("round-robin; depth=0/64; cached=0/1029; candidates=4; best=1024");
    DecisionRecord.StepRecord recorded = log.recent(_ -> true, 1).getFirst().decision().plan().getFirst();
    assertThat(recorded.bestCachedTokens()).isEqualTo(64 * BLOCK);
    assertThat(recorded.regret()).isEqualTo(1024.0 / PROMPT);
  }

  /** No cache has it any more, a larger one would: the prompt's prefix was evicted everywhere. */
  @Test
  void promptSeenBefore_andEvictedSince_decisionTellsHowMuchOfIt() {
    Decision.Chosen before = decide(chain(1, 64));
    assertThat(before.cached()).isEqualTo(CachedTokens.NONE);
    before.reservation().firstToken();
    before.reservation().close(new Outcome.Completed(PROMPT, 0, 10, 1000));
    now += 3600_000_000_000L;
    tick();
    Chain longer = continued(chain(1, 64), 100);

    DecisionRequest request = request("x", null, longer);

    DecisionRecord.StepRecord explained = members.view().explain(request).plan().getFirst();
    Decision.Chosen again = ((Decision.Planned) members.view().decide(request)).last();

    assertThat(explained.everCachedTokens()).isEqualTo(64 * BLOCK);
    assertThat(again.cached()).isEqualTo(new CachedTokens(0, 0, 0, 64 * BLOCK));
    again.reservation().close(new Outcome.Completed(PROMPT, 0, 10, 1000));
    assertThat(log.recent(_ -> true, 1).getFirst().outcomes()).singleElement()
        .satisfies(outcome -> assertThat(outcome.everCachedTokens()).isEqualTo(64 * BLOCK));
  }

  /** A worker that failed has computed nothing, and may not have: others would not either. */
  @Test
  void promptThatFailed_wasNotSeen() {
    decide(chain(1, 64)).reservation().close(new Outcome.Failed(true, "cut"));

    assertThat(decide(chain(1, 64)).cached().ever()).isZero();
  }

  private static DecisionRequest request(String id, @Nullable String profile, Chain chain) {
    return new DecisionRequest(
        id, "m", profile, RequestShape.INDIVISIBLE, new DecisionRequest.Prompt(chain, chain.length() * BLOCK + 5),
        PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE);
  }

  private static Chain continued(Chain chain, int blocks) {
    long[] hashes = Arrays.copyOf(chain.hashes(), blocks);
    for (int i = chain.length(); i < blocks; i++) {
      hashes[i] = BlockHash.chained(hashes[i - 1], i);
    }
    return new Chain(hashes, BLOCK);
  }

  @Test
  void explain_tellsWhatDecideThenDoes_andBooksNothing() {
    Decision.Chosen holder = decide(chain(1, 64));
    holder.reservation().close(new Outcome.Completed(PROMPT, 0, 10, 1000));
    String out = holder.worker().id().equals("w3") ? "w2" : "w3";
    DecisionRequest request =
        new DecisionRequest(
            "x", "m", null, RequestShape.INDIVISIBLE, new DecisionRequest.Prompt(chain(1, 40), PROMPT),
            PreparedSlots.EMPTY, false, DecisionRequest.Constraints.excluding(Set.of(out)),
            "0af7651916cd43dd8448eb211c80319c");

    DecisionRecord explained = members.view().explain(request);

    assertThat(explained.traceId()).isEqualTo("0af7651916cd43dd8448eb211c80319c");

    assertThat(members.all()).allMatch(member -> member.load().inFlight() == 0);
    assertThat(log.recent(decision -> decision.requestId().equals("x"), 10)).isEmpty();
    Decision.Planned planned = (Decision.Planned) members.view().decide(request);
    DecisionRecord.StepRecord step = explained.plan().getFirst();
    assertThat(step.worker()).isEqualTo(planned.last().worker().id());
    assertThat(step.depth()).isEqualTo(planned.last().depth()).isEqualTo(40);
    assertThat(explained.chain()).hasSize(40);
    assertThat(explained.passes().getFirst().candidates()).hasSize(4).anySatisfy(candidate -> {
      assertThat(candidate.worker()).isEqualTo(out);
      assertThat(candidate.removedBy()).isEqualTo("excluded");
      assertThat(candidate.depth()).isZero();
      assertThat(candidate.scores()).isEmpty();
    }).anySatisfy(candidate -> {
      assertThat(candidate.worker()).isEqualTo(step.worker());
      assertThat(candidate.tiers()).containsExactly(Map.entry("device", 40));
    });
  }

  /** A replay of the record decides by the same. */
  @Test
  void explain_hasWhatTheEngineReports_andHowTokensWereFound() {
    Member member = members.all().iterator().next();
    member.report(new EngineReport(2, 3, 0.25));

    DecisionRecord explained =
        members.view().explain(
            new DecisionRequest(
                "x", "m", null, RequestShape.INDIVISIBLE,
                new DecisionRequest.Prompt(chain(1, 64), PROMPT, List.of(), "exact"), PreparedSlots.EMPTY, false,
                DecisionRequest.Constraints.NONE));

    assertThat(explained.tokensFrom()).isEqualTo("exact");
    assertThat(explained.passes().getFirst().candidates()).anySatisfy(candidate -> {
      assertThat(candidate.worker()).isEqualTo(member.worker().id());
      assertThat(candidate.waiting()).isEqualTo(3);
      assertThat(candidate.kvUse()).isEqualTo(0.25);
    }).anySatisfy(candidate -> {
      assertThat(candidate.waiting()).isNull();
      assertThat(candidate.kvUse()).isNull();
      assertThat(candidate.evictionLoss()).isZero();
    });
  }

  /** What was available can be read in a record, also at a worker that a filter has removed. */
  @Test
  void explain_removedWorker_hasItsDepth() {
    Decision.Chosen holder = decide(chain(1, 64));
    holder.reservation().close(new Outcome.Completed(PROMPT, 0, 10, 1000));

    DecisionRecord explained =
        members.view().explain(
            new DecisionRequest(
                "x", "m", null, RequestShape.INDIVISIBLE, new DecisionRequest.Prompt(chain(1, 64), PROMPT),
                PreparedSlots.EMPTY, false,
                DecisionRequest.Constraints.excluding(Set.of(holder.worker().id()))));

    assertThat(explained.passes().getFirst().candidates()).anySatisfy(candidate -> {
      assertThat(candidate.worker()).isEqualTo(holder.worker().id());
      assertThat(candidate.removedBy()).isEqualTo("excluded");
      assertThat(candidate.depth()).isEqualTo(64);
      assertThat(candidate.tiers()).containsEntry("device", 64);
    });
    assertThat(explained.plan().getFirst().bestCachedTokens()).as("of those that could be chosen").isZero();
  }

  @Test
  void decide_sampled_isRecordedWithItsEnd() {
    Decision.Chosen chosen = decide(chain(1, 64));
    chosen.reservation().firstToken();
    chosen.reservation().close(new Outcome.Completed(PROMPT, 0, 10, 2500));
    chosen.reservation().close(new Outcome.Cancelled());

    DecisionLog.Entry entry = log.recent(_ -> true, 10).getFirst();
    assertThat(entry.decision().plan()).singleElement().extracting(DecisionRecord.StepRecord::worker)
        .isEqualTo(chosen.worker().id());
    assertThat(entry.outcomes()).singleElement().satisfies(outcome -> {
      assertThat(outcome.outcome()).isEqualTo("completed");
      assertThat(outcome.ttftMs()).isEqualTo(2.5);
      assertThat(outcome.cachedTokens()).isZero();
    });
    assertThat(member(chosen).load().inFlight()).isZero();
  }

  @Test
  void firstByte_ofAnAnswerThatCameWhole_teachesNothing() {
    decide(chain(1, 64)).reservation().close(new Outcome.Completed(PROMPT, 0, 10, 2_000_000));

    assertThat(costs.learnt()).isEmpty();
  }

  @Test
  void siblings_meet_beforeTheEngineHasSaidAnything() {
    Decision.Planned first = plan(chain(1, 64));
    assertThat(first.reason()).doesNotContain("predicted");
    Decision.Planned again = plan(chain(1, 64));
    assertThat(again.reason()).contains("depth=64/64").endsWith("; predicted=64");
    Decision.Chosen second = again.last();
    assertThat(second.worker()).isEqualTo(first.last().worker());
    assertThat(second.depth()).isEqualTo(64);
    assertThat(second.cached().predicted()).isEqualTo(64 * BLOCK);
    assertThat(second.cached().confirmed()).isZero();
  }

  /**
   * All look at once, none has predicted yet: they still meet, as far as a worker has room. One that lost the race for
   * the last room takes a booking back, and for that moment another may find the next worker full.
   */
  @ParameterizedTest
  @ValueSource(ints = {16, 10, 7})
  void burst_ofIdenticalPrompts_landsOnOneWorker_upToItsLimit(int limit) throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(16)) {
      for (int round = 0; round < 20; round++) {
        members = members();
        seat(limit, FEEDS);
        Chain chain = chain(round, 64);
        CyclicBarrier together = new CyclicBarrier(16);
        List<Future<Decision.Chosen>> burst = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
          burst.add(threads.submit(() -> {
            together.await();
            return decide(chain);
          }));
        }
        for (Future<Decision.Chosen> one : burst) {
          one.get();
        }
        List<Integer> inFlight =
            members.all().stream().map(member -> member.load().inFlight()).sorted().toList().reversed();
        assertThat(inFlight.getFirst()).isEqualTo(Math.min(16, limit));
        assertThat(inFlight.stream().filter(requests -> requests > 0)).hasSize(Math.ceilDiv(16, limit));
        assertThat(inFlight.stream().mapToInt(Integer::intValue).sum()).isEqualTo(16);
      }
    }
  }

  @Test
  void failedBeforeItsFirstToken_isTakenBack() {
    for (Outcome outcome :
        List.of(new Outcome.Failed(false, "x"), new Outcome.Cancelled(), new Outcome.Refused(503))) {
      decide(chain(1, 64)).reservation().close(outcome);
      assertThat(predicted()).isZero();
    }
  }

  @Test
  void failedAfterItsFirstToken_orCompleted_staysPredicted() {
    Decision.Chosen streamed = decide(chain(1, 64));
    streamed.reservation().firstToken();
    streamed.reservation().close(new Outcome.Cancelled());
    decide(chain(2, 64)).reservation().close(new Outcome.Completed(PROMPT, 0, 5, 1));
    assertThat(predicted()).isEqualTo(128);
  }

  @Test
  void failed_leavesWhatSiblingsRelyOn() {
    Decision.Chosen first = decide(chain(1, 64));
    Decision.Chosen second = decide(chain(1, 64));
    first.reservation().close(new Outcome.Cancelled());
    assertThat(predicted()).isEqualTo(64);
    second.reservation().close(new Outcome.Cancelled());
    assertThat(predicted()).isZero();
  }

  @Test
  void unconfirmed_isForgottenAfterAWhile() {
    decide(chain(1, 64));
    now += TestSettings.CELL.prediction().min().toNanos() - 1;
    tick();
    assertThat(predicted()).isEqualTo(64);
    now += TestSettings.CELL.prediction().max().toNanos();
    tick();
    assertThat(predicted()).isZero();
  }

  @Test
  void events_confirm() {
    Decision.Chosen chosen = decide(chain(1, 64));
    Member member = member(chosen);
    confirm(member, 1, 40);
    assertThat(predicted()).isEqualTo(24);
    Decision.Planned next = plan(chain(1, 64));
    assertThat(next.last().cached().confirmed()).isEqualTo(40 * BLOCK);
    assertThat(next.reason()).endsWith("; predicted=24");
    now += TestSettings.CELL.prediction().max().toNanos() * 2;
    tick();
    assertThat(decide(chain(1, 64)).depth()).isEqualTo(40);
  }

  /**
   * Two prompts begin alike, as another worker's that is not to be had. Each is new in a block of its own, so that
   * neither waits for the other, and both go to one worker.
   */
  @Test
  void promptThatBeginsAlike_decidedMeanwhile_isCountedOn() {
    Member holder = members.all().getFirst();
    confirm(holder, 1, 40);
    members.all().stream().skip(2).forEach(member -> member.drain(true));
    DecisionRequest.Constraints elsewhere =
        DecisionRequest.Constraints.excluding(Set.of(holder.worker().id()));
    List<Decision.Chosen> first = new ArrayList<>();
    meanwhile = () -> first.add(plan(goingOn(40, 2), RequestShape.INDIVISIBLE, true, elsewhere).last());
    Decision.Planned decision = plan(goingOn(40, 3), RequestShape.INDIVISIBLE, true, elsewhere);
    Decision.Chosen second = decision.last();

    assertThat(first).singleElement().satisfies(one -> {
      assertThat(one.depth()).isZero();
      assertThat(one.worker()).isEqualTo(second.worker());
    });
    assertThat(second.depth()).isEqualTo(40);
    assertThat(decision.reason()).endsWith("; predicted=40");
    Member worker = member(second);
    connectVllm(worker);
    assertThat(second.reservation().prefixHold()).isEqualTo(PrefixHold.HELD);
    assertThat(worker.load().inFlight()).isEqualTo(2);
    assertThat(worker.cache().blocks().predicted()).isEqualTo(40 + 2 * 24);
    second.reservation().close(new Outcome.Cancelled());
    first.getFirst().reservation().close(new Outcome.Cancelled());
    assertThat(worker.load().inFlight()).isZero();
    assertThat(worker.load().queueMs()).isZero();
    assertThat(worker.load().contextTokens()).isZero();
    assertThat(worker.cache().blocks().predicted()).isZero();
  }

  /** Its worker evicts while it is chosen: nothing is promised that is known to be gone. */
  @Test
  void promptThatIsEvictedMeanwhile_isDecidedAnew() {
    Member holder = members.all().getFirst();
    confirm(holder, 1, 64);
    connectVllm(holder);
    meanwhile = () -> evict(holder.cache().blocks(), chain(1, 64).hashes(), 10);
    Decision.Planned decision = plan(chain(1, 80), RequestShape.INDIVISIBLE, true, only(holder));
    assertThat(decision.last().depth()).isEqualTo(10);
    assertThat(decision.reason()).doesNotContain("predicted");
    assertThat(holder.load().inFlight()).isEqualTo(1);
    decision.close(new Outcome.Cancelled());
    assertThat(holder.cache().blocks().predicted()).isZero();
  }

  /** An engine stores a prompt and evicts it, again and again: what is promised is what it has just told to hold. */
  @Test
  void promptThatComesAndGoes_isPromisedAsItIs() throws Exception {
    Member holder = members.all().getFirst();
    WorkerBlocks blocks = holder.cache().blocks();
    connectVllm(holder);
    confirm(holder, 1, 64);
    evict(blocks, chain(1, 64).hashes(), 1);
    AtomicBoolean over = new AtomicBoolean();
    Thread engine = Thread.ofPlatform().start(() -> {
      while (!over.get()) {
        confirm(holder, 1, 64);
        LockSupport.parkNanos(1_000_000);
        blocks.remove(chain(1, 64).hashes(), 64, Tier.DEVICE, true);
        LockSupport.parkNanos(1_000_000);
      }
    });
    try {
      for (int i = 0; i < 3_000; i++) {
        Decision.Planned decision = plan(chain(1, 80), RequestShape.INDIVISIBLE, true, only(holder));
        assertThat(decision.reason()).as("decision %d", i).doesNotContain("predicted");
        decision.close(new Outcome.Cancelled());
      }
    } finally {
      over.set(true);
      engine.join();
    }
  }

  private DecisionRequest.Constraints only(Member worker) {
    return DecisionRequest.Constraints.excluding(
        members.all().stream()
            .filter(other -> other != worker)
            .map(other -> other.worker().id())
            .collect(Collectors.toSet()));
  }

  /** Of 64 blocks, which begins as {@code chain(1, 64)} does. */
  private static Chain goingOn(int shared, int own) {
    long[] hashes = chain(1, 64).hashes();
    for (int i = shared; i < hashes.length; i++) {
      hashes[i] = BlockHash.chained(hashes[i - 1], own * 1000L + i + 1);
    }
    return new Chain(hashes, BLOCK);
  }

  private static void confirm(Member member, int seed, int blocks) {
    long[] hashes = chain(seed, blocks).hashes();
    member.cache().blocks().store(0, true, hashes, hashes, blocks, Tier.DEVICE, true);
  }

  @Test
  void approximate_remembersWithoutEvents_upToItsCapacity() {
    members = members();
    seat(16, List.of());
    members.all().stream().skip(1).forEach(member -> member.drain(true));
    Decision.Chosen first = decide(chain(1, 64));
    first.reservation().close(new Outcome.Completed(PROMPT, 0, 5, 1));
    now += TestSettings.CELL.prediction().max().toNanos() * 100;
    tick();
    Decision.Chosen second = decide(chain(1, 64));
    assertThat(second.worker()).isEqualTo(first.worker());
    assertThat(second.depth()).isEqualTo(64);
    for (int i = 0; i < 20; i++) {
      decide(chain(100 + i, 64)).reservation().close(new Outcome.Completed(PROMPT, 0, 5, 1));
    }
    assertThat(predicted()).isEqualTo(1000);
    assertThat(decide(chain(1, 64)).depth()).isZero();
  }

  @Test
  void approximate_forTextOnAWorkerWithEvents() {
    Chain text = new Chain(chain(1, 64).hashes(), 8);
    Decision.Chosen first = decide(text);
    now += TestSettings.CELL.prediction().max().toNanos() * 100;
    tick();
    Decision.Chosen second = decide(text);
    assertThat(second.worker()).isEqualTo(first.worker());
    assertThat(second.depth()).isEqualTo(64);
  }

  @Test
  void lyingIndex_isDiscounted_untilAnswersConfirmIt() {
    Member liar = members.all().getFirst();
    for (int seed = 0; seed < 12; seed++) {
      confirm(liar, seed, 64);
    }
    for (int seed = 0; seed < 12; seed++) {
      Decision.Chosen chosen = decide(chain(seed, 64));
      assertThat(chosen.worker()).isEqualTo(liar.worker());
      chosen.reservation().close(new Outcome.Completed(PROMPT, PROMPT / 4, 5, 1));
    }
    assertThat(liar.accuracy().trust()).isBetween(0.2, 0.3);
    assertThat(MemberDescription.of(liar, "m", null, 0, 0).index().trust()).isEqualTo(liar.accuracy().trust());
    tick();
    Decision.Chosen doubted = decide(chain(3, 64));
    assertThat(doubted.depth()).isLessThan(20);

    for (int i = 0; i < 32; i++) {
      HitPrediction forecast = liar.cache().predict(chain(3, 64), 64, PROMPT);
      HitOutcome _ = liar.requestEnded(ANY, new Outcome.Completed(PROMPT, 64 * BLOCK, 5, 1), PROMPT, forecast);
    }
    assertThat(liar.accuracy().trust()).isEqualTo(1);
    tick();
    assertThat(decide(chain(3, 64)).depth()).isEqualTo(64);
  }

  @Test
  void unconfirmedPredictions_areNoPromises() {
    for (int i = 0; i < 40; i++) {
      Decision.Chosen chosen = decide(chain(1, 64));
      chosen.reservation().close(new Outcome.Completed(PROMPT, 0, 5, 1));
    }
    assertThat(members.all()).allMatch(member -> member.accuracy().trust() == 1);
  }

  @Test
  void engineThatReportsNothing_isBelieved() {
    Member worker = members.all().getFirst();
    confirm(worker, 1, 64);
    for (int i = 0; i < 40; i++) {
      decide(chain(1, 64)).reservation().close(new Outcome.Completed(PROMPT, Outcome.UNKNOWN, 5, 1));
    }
    assertThat(worker.accuracy().trust()).isEqualTo(1);
  }

  @Test
  void whatTheEngineEvictedWhileAPromptWaited_isNoLie() {
    Member member = members.all().getFirst();
    EventApplier applier = new EventApplier(member.cache().blocks(), BLOCK);
    for (int i = 0; i < 40; i++) {
      HitPrediction forecast = held(member, applier, 2 * i);
      assertThat(forecast.expectedTokens(6 * BLOCK)).isEqualTo(4 * BLOCK);
      tell(member, applier, 2 * i + 1, new KvEvent.Removed(new long[] {1, 2, 3, 4}, Tier.DEVICE, KvEvent.UNSPECIFIED));
      HitOutcome _ = member.requestEnded(ANY, new Outcome.Completed(6 * BLOCK, 0, 5, 1), 6 * BLOCK, forecast);
    }
    assertThat(member.accuracy().trust()).isEqualTo(1);
  }

  /** One block of a window is enough for an engine to find nothing of all that it holds. */
  @Test
  void whatAHybridEngineEvictedOfAWindow_whileAPromptWaited_isNoLie() {
    EventApplier applier = new EventApplier(members.all().getFirst().cache().blocks(), BLOCK);
    Member member = hybrid(applier);
    HitPrediction forecast = member.cache().predict(ofTokens(8, 8), 6, PROMPT);
    HitPrediction unexplained = member.cache().predict(ofTokens(8, 8), 6, PROMPT);
    assertThat(forecast.expectedTokens(PROMPT)).isEqualTo(6 * BLOCK);
    assertThat(ended(member, unexplained, 0)).isEqualTo(HitOutcome.BROKEN);

    tell(member, applier, 1, new KvEvent.Removed(new long[] {6}, Tier.DEVICE, 1));

    assertThat(ended(member, forecast, 0)).isEqualTo(HitOutcome.OVERTAKEN);
    assertThat(ended(member, forecast, 6 * BLOCK)).isEqualTo(HitOutcome.KEPT);
    assertThat(ended(member, forecast, Outcome.UNKNOWN)).isNull();
  }

  private static @Nullable HitOutcome ended(Member member, HitPrediction forecast, int cached) {
    return member.requestEnded(ANY, new Outcome.Completed(PROMPT, cached, 5, 1), PROMPT, forecast);
  }

  @Test
  void whatTheEngineStoresAgain_hadBeenLostUntold() {
    Member member = members.all().getFirst();
    EventApplier applier = new EventApplier(member.cache().blocks(), BLOCK);
    for (int i = 0; i < 40; i++) {
      HitPrediction forecast = held(member, applier, 2 * i);
      tell(member, applier, 2 * i + 1, fourBlocks());
      HitOutcome _ = member.requestEnded(ANY, new Outcome.Completed(6 * BLOCK, 0, 5, 1), 6 * BLOCK, forecast);
    }
    assertThat(member.accuracy().trust()).isZero();
  }

  /** LMCache reports what it stores, and never what it drops: answers show that. */
  @Test
  void chunksThatAnswersShowToBeGone_areHintedNoMore() {
    Member member = members.all().getFirst();
    EventApplier applier = new EventApplier(member.cache().blocks(), BLOCK);
    int chunk = 4 * BLOCK;
    for (int i = 0; i < 300; i++) {
      int[] tokens = IntStream.range(i, i + chunk).toArray();
      tell(member, applier, i, new Stored(
          true, 0, new long[] {1000 + i}, tokens, chunk, Tier.HOST, null, null, KvEvent.UNSPECIFIED,
          KvEvent.Spec.UNSPECIFIED, List.of()));
    }
    member.cache().hints(applier.hints());
    long[] hashes = new long[6];
    BlockHash.in(null, null).chain(
        BlockHash.NONE, IntStream.range(0, 6 * BLOCK).toArray(), 0, 6 * BLOCK, BLOCK, hashes, 0);
    Chain oldest = new Chain(hashes, BLOCK);
    assertThat(members.view().fleet().hintedBlocks(oldest, member.worker().slot())).isEqualTo(4);

    for (int i = 0; i < 20; i++) {
      HitPrediction forecast = member.cache().predict(oldest, 0, PROMPT);
      HitOutcome _ = member.requestEnded(ANY, new Outcome.Completed(6 * BLOCK, 0, 5, 1), 6 * BLOCK, forecast);
    }
    assertThat(members.view().fleet().hintedBlocks(oldest, member.worker().slot())).isZero();

    HitPrediction again = member.cache().predict(oldest, 0, PROMPT);
    HitOutcome _ = member.requestEnded(ANY, new Outcome.Completed(6 * BLOCK, 4 * BLOCK, 5, 1), 6 * BLOCK, again);
    assertThat(members.view().fleet().hintedBlocks(oldest, member.worker().slot())).isEqualTo(4);
  }

  /** What is expected of a worker that has told of the four blocks that a prompt begins with. */
  private HitPrediction held(Member member, EventApplier applier, int sequence) {
    tell(member, applier, sequence, fourBlocks());
    long[] hashes = new long[6];
    int[] tokens = IntStream.range(0, 6 * BLOCK).toArray();
    BlockHash.in(null, null).chain(BlockHash.NONE, tokens, 0, tokens.length, BLOCK, hashes, 0);
    return member.cache().predict(new Chain(hashes, BLOCK), 4, PROMPT);
  }

  private static void tell(Member member, EventApplier applier, int sequence, KvEvent event) {
    applier.apply(new KvBatch(sequence, 0, 0, List.of(event)), 0);
    member.cache().events(applier.state());
  }

  private static Stored fourBlocks() {
    return new Stored(
        true, 0, new long[] {1, 2, 3, 4}, IntStream.range(0, 4 * BLOCK).toArray(), BLOCK, Tier.DEVICE, null, null,
        KvEvent.UNSPECIFIED, KvEvent.Spec.UNSPECIFIED, List.of());
  }

  /** A window of two blocks, kept at the end of the prompt alone. */
  @Test
  void hybridModel_isPromisedWhatItsEngineCanGoOnFrom() {
    Member member = hybrid(new EventApplier(members.all().getFirst().cache().blocks(), BLOCK));
    assertThat(depthOf(ofTokens(8, 8))).as("of 8 blocks the 5th and 6th are in the window").isEqualTo(6);
    assertThat(depthOf(ofTokens(4, 8))).as("another prompt parts from it after 4: no window ends there").isZero();
    assertThat(depthOf(ofTokens(4, 9))).as("where it parted the engine keeps a window now").isEqualTo(4);
    assertThat(members.view().fleet().reported(ofTokens(8, 8), member.worker().slot())).isEqualTo(6);
  }

  /** A record has what was promised, and what would have been of those that a filter has removed. */
  @Test
  void explain_ofAHybridModel_hasWhatItsEngineCanGoOnFrom() {
    String hybrid = hybrid(new EventApplier(members.all().getFirst().cache().blocks(), BLOCK)).worker().id();
    for (Set<String> excluded : List.of(Set.<String>of(), Set.of(hybrid))) {
      DecisionRecord explained =
          members.view().explain(
              new DecisionRequest(
                  "x", "m", null, RequestShape.INDIVISIBLE, new DecisionRequest.Prompt(ofTokens(8, 8), PROMPT),
                  PreparedSlots.EMPTY, false, DecisionRequest.Constraints.excluding(excluded)));
      assertThat(explained.passes().getFirst().candidates()).anySatisfy(candidate -> {
        assertThat(candidate.worker()).isEqualTo(hybrid);
        assertThat(candidate.removedBy()).isEqualTo(excluded.isEmpty() ? null : "excluded");
        assertThat(candidate.depth()).isEqualTo(6);
        assertThat(candidate.tiers()).containsExactly(Map.entry("device", 6));
      });
    }
  }

  /** The only worker of the model has 8 blocks, of which a window keeps the 4th to the 6th. */
  private Member hybrid(EventApplier applier) {
    members.all().stream().skip(1).forEach(other -> other.drain(true));
    Member member = members.all().getFirst();
    int[] tokens = IntStream.range(0, 8 * BLOCK).toArray();
    long[] keys = {1, 2, 3, 4, 5, 6, 7, 8};
    KvEvent.Spec window = new KvEvent.Spec(KvEvent.Spec.Kind.SLIDING_WINDOW, BLOCK + 2);
    applier.apply(
        new KvBatch(
            0, 0, 0,
            List.of(
                new Stored(
                    true, 0, keys, tokens, BLOCK, Tier.DEVICE, null, null, 0, KvEvent.Spec.FULL, List.of()),
                new Stored(
                    true, 0, new long[] {4, 5, 6}, tokens, BLOCK, Tier.DEVICE, null, null, 1, window, List.of()))),
        0);
    member.cache().events(applier.state());
    member.cache().groups(applier.groups());
    return member;
  }

  private int depthOf(Chain chain) {
    Decision.Chosen chosen = decide(chain);
    chosen.reservation().firstToken();
    chosen.reservation().close(new Outcome.Cancelled());
    return chosen.depth();
  }

  /** A prompt whose first {@code shared} blocks are of tokens from 0 on, and the rest its own. */
  private static Chain ofTokens(int shared, int own) {
    int[] tokens =
        IntStream.range(0, 64 * BLOCK).map(i -> i < shared * BLOCK ? i : own * 1_000_000 + i).toArray();
    long[] hashes = new long[64];
    BlockHash.in(null, null).chain(BlockHash.NONE, tokens, 0, tokens.length, BLOCK, hashes, 0);
    return new Chain(hashes, BLOCK);
  }

  @Test
  void events_inABlockSizeOfTheirOwn_speakOfOtherBlocks() {
    Member member = members.all().getFirst();
    EventApplier applier = new EventApplier(member.cache().blocks(), BLOCK);
    int[] tokens = IntStream.range(0, 64).toArray();
    applier.apply(
        new KvBatch(
            0, 0, 0,
            List.of(
                new Stored(
                    true, 0, new long[] {1, 2}, tokens, 32, Tier.DEVICE, null, null, KvEvent.UNSPECIFIED,
                    KvEvent.Spec.UNSPECIFIED, List.of()))),
        0);
    member.cache().events(applier.state());
    assertThat(member.cache().predict(chain(1, 5), 0, PROMPT).reported()).isFalse();
    assertThat(member.cache().predict(new Chain(chain(1, 5).hashes(), 32), 0, PROMPT).reported()).isTrue();
  }
}
