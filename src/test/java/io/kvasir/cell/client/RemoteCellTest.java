package io.kvasir.cell.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.CachedTokens;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.ledger.CorrelationIds;
import io.kvasir.cell.ledger.InFlightLoad;
import io.kvasir.cell.ledger.LeasedReservations;
import io.kvasir.cell.ledger.OpenReservations;
import io.kvasir.cell.ledger.ReservationEvent;
import io.kvasir.cell.view.DecisionReply;
import io.kvasir.cell.view.DecisionServer.HoldReply;
import io.kvasir.cell.view.DecisionServer.TurnReply;
import io.kvasir.index.Chain;
import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.DecisionRecord;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A node's client of a cell, in front of homes that lose what is sent to them. */
final class RemoteCellTest {
  private static final Duration LEASE = Duration.ofMinutes(2);
  private static final String NODE = "n";
  private static final Worker WORKER =
      new Worker(
          "w", "w", URI.create("http://127.0.0.1:9000"), 0, 1, 0, Role.BOTH, Set.of("m"), Map.of(), 100, "e", null);

  private final AtomicLong nanos = new AtomicLong();

  /** A home that keeps its ledger well. Subclasses lose what is sent to it, or are late. */
  private class Home implements CellHome {
    final LeasedReservations ledger = new LeasedReservations(LEASE, nanos::get);
    final AtomicInteger held = new AtomicInteger();
    final AtomicInteger messages = new AtomicInteger();

    /** The ids of the reservations that this node has. */
    final Set<Long> live = ConcurrentHashMap.newKeySet();

    @Override
    public String cell() {
      return "c";
    }

    @Override
    public QueryResult query(DecisionRequest request, long correlationId, CorrelationIds ids) {
      book(correlationId);
      live.add(CorrelationIds.reservation(correlationId, 0));
      return new QueryResult.Replied(reply(), correlationId, Decision.Way.LINE);
    }

    @Override
    public CompletableFuture<List<TurnReply>> turns(List<Long> correlationIds) {
      throw new AssertionError("nobody waits here");
    }

    @Override
    public CompletableFuture<List<HoldReply>> holds(List<Long> reservations) {
      throw new AssertionError("none is held here");
    }

    @Override
    public void abandon(long correlationId) {
      ledger.abandon(NODE, correlationId);
    }

    @Override
    public DecisionRecord explain(DecisionRequest request) {
      throw new AssertionError("not explained here");
    }

    @Override
    public void reservationChanged(ReservationEvent event) {
      ledger.apply(NODE, event);
    }

    @Override
    public void declare(long incarnation, List<InFlightLoad> loads) {
      for (InFlightLoad load : loads) {
        ledger.adopt(NODE, load, _ -> reservation(load.reservation()));
      }
    }

    @Override
    public CompletableFuture<Boolean> declareOpen(OpenReservations open) {
      messages.incrementAndGet();
      int _ = ledger.reconcile(NODE, open);
      return CompletableFuture.completedFuture(true);
    }

    final void book(long correlationId) {
      long id = CorrelationIds.reservation(correlationId, 0);
      ledger.hold(NODE, id, reservation(id));
    }

    final DecisionReply reply() {
      RoutingPlan.Step step =
          new RoutingPlan.Step(
              RoutingPlan.WHOLE, Role.BOTH, WORKER, true, List.of(), FailurePolicy.NEXT_CANDIDATE, null);
      return new DecisionReply(
          1, "whole", RoutingPlan.StepOrder.SEQUENTIAL,
          List.of(new DecisionReply.ChosenStep(step, 0, 0, 0, 64, 80, false, false)), "as the test has it", null, null,
          null);
    }

    private Reservation reservation(long id) {
      held.incrementAndGet();
      return new Reservation() {
        @Override
        public void firstToken() {}

        @Override
        public void prefillLocally() {}

        @Override
        public void progressed() {}

        @Override
        public void close(Outcome outcome) {
          assertThat(live.contains(id)).as("closed, though the node still has it").isFalse();
          held.decrementAndGet();
        }
      };
    }
  }

  /** Loses, delays and repeats what is sent, replies included. */
  private final class LossyHome extends Home {
    private final SplittableRandom random;
    private final List<Runnable> underWay = new ArrayList<>();

    LossyHome(SplittableRandom random) {
      this.random = random;
    }

    /** Returns whether the sender knows that the message has come: it may come, or later, or never, without. */
    private boolean send(Runnable arrival) {
      switch (random.nextInt(4)) {
        case 0 -> {
          arrival.run();
          return true;
        }
        case 1 -> {
          arrival.run();
          underWay.add(arrival);
        }
        case 2 -> underWay.add(arrival);
        default -> {
          return false;
        }
      }
      return false;
    }

    void arrive() {
      if (!underWay.isEmpty()) {
        underWay.remove(random.nextInt(underWay.size())).run();
      }
    }

    void arriveAll() {
      while (!underWay.isEmpty()) {
        arrive();
      }
    }

    @Override
    public QueryResult query(DecisionRequest request, long correlationId, CorrelationIds ids) {
      return switch (random.nextInt(5)) {
        case 0, 1 -> super.query(request, correlationId, ids);
        case 2 -> {
          long again = ids.next();
          book(correlationId);
          boolean _ = send(() -> ledger.abandon(NODE, correlationId));
          yield super.query(request, again, ids);
        }
        case 3 -> {
          book(correlationId);
          boolean _ = send(() -> ledger.abandon(NODE, correlationId));
          yield new QueryResult.Late();
        }
        default -> new QueryResult.Late();
      };
    }

    @Override
    public void reservationChanged(ReservationEvent event) {
      boolean _ = send(() -> super.reservationChanged(event));
    }

    @Override
    public void declare(long incarnation, List<InFlightLoad> loads) {
      // One that comes so late that its reservations are over is given back when its lease ends.
      if (random.nextBoolean()) {
        super.declare(incarnation, loads);
      }
    }

    @Override
    public CompletableFuture<Boolean> declareOpen(OpenReservations open) {
      boolean received =
          send(() -> {
            var _ = super.declareOpen(open);
          });
      return CompletableFuture.completedFuture(received);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
  void whateverIsLost_theLoadIsGivenBack_andNothingThatIsOpen(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    LossyHome home = new LossyHome(random);
    RemoteCell cell = cell(home);
    List<Decision.Planned> open = new ArrayList<>();
    for (int step = 0; step < 3_000; step++) {
      // So slowly that nothing is left to leases before the end.
      nanos.addAndGet(Duration.ofSeconds(1).toNanos());
      switch (random.nextInt(8)) {
        case 0, 1, 2 -> {
          if (cell.decide(request(10)) instanceof Decision.Planned planned) {
            open.add(planned);
          }
        }
        case 3, 4 -> {
          if (!open.isEmpty()) {
            end(home, open.remove(random.nextInt(open.size())));
          }
        }
        case 5 -> home.arrive();
        case 6 -> cell.declareOpen();
        default -> {
          Reservation alone = cell.open(WORKER, request(10), true, () -> {});
          alone.firstToken();
          alone.close(new Outcome.Cancelled());
        }
      }
    }
    home.arriveAll();
    deliver(home, cell);
    assertThat(home.held).as("what the node has open, and nothing else").hasValue(open.size());
    open.forEach(planned -> end(home, planned));
    deliver(home, cell);
    assertThat(home.held).hasValue(0);
  }

  /** The home has booked what the node does not have yet: that is not taken for over. */
  @Test
  void decide_tellsWhatTheHomeKnowsOfThePrompt() {
    Decision.Planned planned = (Decision.Planned) cell(new Home()).decide(request(10));

    assertThat(planned.last().cached()).isEqualTo(new CachedTokens(0, 0, 64, 80));
  }

  @Test
  void declareOpen_whileAReplyIsUnderWay_keepsItsReservation() {
    List<RemoteCell> cells = new ArrayList<>();
    Home home = new Home() {
      @Override
      public QueryResult query(DecisionRequest request, long correlationId, CorrelationIds ids) {
        QueryResult reply = super.query(request, correlationId, ids);
        cells.getFirst().declareOpen();
        return reply;
      }
    };
    cells.add(cell(home));
    Decision.Planned first = (Decision.Planned) cells.getFirst().decide(request(10));
    Decision.Planned second = (Decision.Planned) cells.getFirst().decide(request(10));
    assertThat(home.held).hasValue(2);
    end(home, first);
    end(home, second);
    cells.getFirst().declareOpen();
    assertThat(home.held).hasValue(0);
  }

  /** Decisions and declarations at the same time, on several threads. */
  @Test
  void whileDeciding_nothingOpenIsGivenBack() throws Exception {
    Home home = new Home() {
      @Override
      public void reservationChanged(ReservationEvent event) {
        // All are lost.
      }
    };
    RemoteCell cell = cell(home);
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> deciding = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        deciding.add(
            threads.submit(() -> {
              for (int round = 0; round < 5_000; round++) {
                end(home, (Decision.Planned) cell.decide(request(10)));
              }
              return null;
            }));
      }
      while (!deciding.stream().allMatch(Future::isDone)) {
        cell.declareOpen();
      }
      for (Future<?> done : deciding) {
        done.get();
      }
    }
    cell.declareOpen();
    assertThat(home.held).hasValue(0);
  }

  /** Another request counts on one of this node, whenever the home finds out. */
  @Test
  void homeThatInquires_learnsOnceThatARequestIsSent() {
    List<ReservationEvent> events = new ArrayList<>();
    List<RemoteCell> cells = new ArrayList<>();
    Home home = new Home() {
      @Override
      public QueryResult query(DecisionRequest request, long correlationId, CorrelationIds ids) {
        QueryResult reply = super.query(request, correlationId, ids);
        if (correlationId == 4) {
          cells.getFirst().reportSent(CorrelationIds.reservation(correlationId, 0));
        }
        return reply;
      }

      @Override
      public void reservationChanged(ReservationEvent event) {
        events.add(event);
      }
    };
    RemoteCell cell = cell(home);
    cells.add(cell);
    List<Reservation> requests =
        IntStream.range(0, 5)
            .mapToObj(i -> ((Decision.Planned) cell.decide(request(10))).last().reservation())
            .toList();
    long[] ids = LongStream.rangeClosed(1, 5).map(request -> CorrelationIds.reservation(request, 0)).toArray();

    requests.get(0).sent();
    cell.reportSent(ids[0]);
    assertThat(events).as("which was sent before").containsExactly(ReservationEvent.sent(ids[0]));
    cell.reportSent(ids[1]);
    assertThat(events).as("which is not sent").hasSize(1);
    requests.get(1).sent();
    requests.get(1).sent();
    requests.get(2).sent();
    assertThat(events).as("and the one that nobody waits for").hasSize(2).contains(ReservationEvent.sent(ids[1]));
    requests.get(3).sent();
    assertThat(events).as("inquired after before its reply").hasSize(3).contains(ReservationEvent.sent(ids[3]));
    cell.reportSent(ids[4]);
    requests.get(4).close(new Outcome.Cancelled());
    requests.get(4).sent();
    assertThat(events).as("over before it was sent").hasSize(4)
        .noneMatch(event -> event.equals(ReservationEvent.sent(ids[4])));
  }

  @Test
  void declareOpen_sendsNothingWhileThereIsNothingNew() {
    Home home = new Home();
    RemoteCell cell = cell(home);
    cell.declareOpen();
    assertThat(home.messages).as("before the first request").hasValue(0);
    Decision.Planned planned = (Decision.Planned) cell.decide(request(10));
    cell.declareOpen();
    cell.declareOpen();
    assertThat(home.messages).as("while one is open, whose lease is renewed").hasValue(2);
    end(home, planned);
    cell.declareOpen();
    cell.declareOpen();
    cell.declareOpen();
    assertThat(home.messages).as("once for its end").hasValue(3);
  }

  /** A stream may take an hour, and a lease takes minutes. */
  @Test
  void lease_isRenewedWhileTheNodeDeclaresIt() {
    Home home = new Home();
    RemoteCell cell = cell(home);
    Decision.Planned planned = (Decision.Planned) cell.decide(request(10));
    for (int i = 0; i < 240; i++) {
      nanos.addAndGet(LEASE.dividedBy(8).toNanos());
      cell.declareOpen();
      assertThat(home.ledger.expire()).isZero();
    }
    assertThat(home.held).hasValue(1);
    home.live.clear();
    nanos.addAndGet(LEASE.toNanos());
    assertThat(home.ledger.expire()).as("of a node that declares nothing").isEqualTo(1);
    assertThat(planned.steps()).hasSize(1);
  }

  /** One message has room for so many only. */
  @Test
  void declarations_ofMany_coverEachRequestOnce() {
    SplittableRandom random = new SplittableRandom(1);
    List<Long> open = new ArrayList<>();
    long below = 30_000;
    for (long request = 1; request < below + 100; request++) {
      for (int step = random.nextInt(3); step > 0; step--) {
        open.add(CorrelationIds.reservation(request, step));
      }
    }
    Home home = new Home();
    for (long request = 1; request < below; request++) {
      home.book(request);
    }
    int over = home.held.get();
    LeasedReservations ledger = home.ledger;
    open.forEach(id -> ledger.hold(NODE, id, home.reservation(id)));
    home.live.addAll(open);
    for (OpenReservations declared : OpenReservations.declarations(below, open)) {
      assertThat(declared.reservations()).hasSizeLessThanOrEqualTo(10_000);
      over -= ledger.reconcile(NODE, declared);
    }
    assertThat(over).isZero();
    assertThat(home.held).hasValue(open.size());
  }

  /** A huge prompt that the home takes long over keeps no other request from it. */
  @Test
  void lateReply_toALargeRequest_isItsOwn() {
    AtomicInteger asked = new AtomicInteger();
    RemoteCell cell =
        cell(
            replying(
                request -> {
                  asked.incrementAndGet();
                  return request.prompt().chain().length() > RemoteCell.LARGE_CHAIN ? new CellHome.QueryResult.Late()
                      : null;
                }));
    for (int i = 0; i < 10; i++) {
      assertThat(cell.decide(request(RemoteCell.LARGE_CHAIN + 1))).isEqualTo(noHome(CellHomeClient.NO_ANSWER));
      assertThat(cell.decide(request(10))).isInstanceOf(Decision.Planned.class);
    }
    assertThat(asked).hasValue(20);
  }

  @Test
  void lateReply_whileOthersAreAnswered_isThatRequestsOwn() {
    List<RemoteCell> cells = new ArrayList<>();
    cells.add(
        cell(
            replying(
                request -> {
                  if (request.prompt().chain().length() != 11) {
                    return null;
                  }
                  assertThat(cells.getFirst().decide(request(10))).isInstanceOf(Decision.Planned.class);
                  return new CellHome.QueryResult.Late();
                })));
    assertThat(cells.getFirst().decide(request(11))).isEqualTo(noHome(CellHomeClient.NO_ANSWER));
    assertThat(cells.getFirst().decide(request(10))).isInstanceOf(Decision.Planned.class);
  }

  /** While a home is silent, not every request waits for it, and a large one is not the one to try it. */
  @Test
  void homeThatAnswersNobody_isTriedByOneInAWhile() {
    AtomicInteger asked = new AtomicInteger();
    RemoteCell cell =
        cell(
            replying(
                _ -> {
                  asked.incrementAndGet();
                  return new CellHome.QueryResult.Late();
                }));
    for (int i = 0; i < 10; i++) {
      assertThat(cell.decide(request(10))).isEqualTo(noHome(CellHomeClient.NO_ANSWER));
    }
    assertThat(asked).hasValue(1);
    nanos.addAndGet(Duration.ofMillis(200).toNanos());
    assertThat(cell.decide(request(RemoteCell.LARGE_CHAIN + 1))).isEqualTo(noHome(CellHomeClient.NO_ANSWER));
    assertThat(asked).hasValue(1);
    assertThat(cell.decide(request(10))).isEqualTo(noHome(CellHomeClient.NO_ANSWER));
    assertThat(asked).hasValue(2);
  }

  @Test
  void requestThatCannotBeSent_saysWhy_andHarmsNoOther() {
    RemoteCell cell =
        cell(
            replying(
                request ->
                    request.prompt().chain().length() == 11 ? new CellHome.QueryResult.Unsent("too long") : null));
    assertThat(cell.decide(request(11))).isEqualTo(noHome("too long"));
    assertThat(cell.decide(request(10))).isInstanceOf(Decision.Planned.class);
  }

  private Home replying(Function<DecisionRequest, CellHome.@Nullable QueryResult> otherwise) {
    return new Home() {
      @Override
      public QueryResult query(DecisionRequest request, long correlationId, CorrelationIds ids) {
        QueryResult other = otherwise.apply(request);
        return other == null ? super.query(request, correlationId, ids) : other;
      }
    };
  }

  /** As many declarations as it takes for one to arrive, and its receipt. */
  private static void deliver(LossyHome home, RemoteCell cell) {
    for (int i = 0; i < 100; i++) {
      cell.declareOpen();
    }
    home.arriveAll();
  }

  private static void end(Home home, Decision.Planned planned) {
    for (Decision.Chosen chosen : planned.steps()) {
      home.live.remove(((RemoteReservation) chosen.reservation()).id());
      chosen.reservation().close(new Outcome.Cancelled());
    }
  }

  private static Decision noHome(String why) {
    return new Decision.NoWorker(Decision.NoWorkerReason.NO_HOME, why);
  }

  private RemoteCell cell(CellHome home) {
    return new RemoteCell(
        home, new RemoteProgress(_ -> {}, nanos::get), Duration.ZERO, () -> false, () -> null, nanos::get);
  }

  private static DecisionRequest request(int blocks) {
    return new DecisionRequest(
        "r", "m", null, RequestShape.TEXT, new DecisionRequest.Prompt(new Chain(new long[blocks], 16), 16 * blocks),
        PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE);
  }
}
