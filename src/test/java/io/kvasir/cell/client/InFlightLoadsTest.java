package io.kvasir.cell.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.home.Cell;
import io.kvasir.cell.ledger.CorrelationIds;
import io.kvasir.cell.ledger.InFlightLoad;
import io.kvasir.cell.ledger.LeasedReservations;
import io.kvasir.cell.worker.WorkerLoad;
import io.kvasir.routing.Booking;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Homes that come and go, against what the nodes really have in flight. */
@Tag("lock-free")
final class InFlightLoadsTest {
  private static final int STEPS = 3_000;
  private static final int MOST = 4;
  private static final Booking BOOKING = new Booking(100, 50, 1000);

  /** The ledger of one incarnation of a home. */
  private static final class Home {
    final long incarnation;
    final Set<String> members = new HashSet<>();
    final Map<String, WorkerLoad> workers = Map.of("v", new WorkerLoad(MOST), "w", new WorkerLoad(MOST));
    final LeasedReservations held = new LeasedReservations(Duration.ofHours(1), () -> 0);

    Home(long incarnation) {
      this.incarnation = incarnation;
    }

    @Nullable Reservation book(InFlightLoad load) {
      if (!members.contains(load.worker())) {
        return null;
      }
      load(load.worker()).add(BOOKING);
      Reservation booked = booked(load.worker());
      if (load.firstToken()) {
        booked.firstToken();
      }
      return booked;
    }

    /** Chooses and books in one step; null when the worker is full. */
    @Nullable Reservation decide(String worker) {
      return load(worker).book(BOOKING) ? booked(worker) : null;
    }

    int inFlight() {
      return workers.values().stream().mapToInt(WorkerLoad::inFlight).sum();
    }

    long pending() {
      return workers.values().stream().mapToLong(WorkerLoad::pendingTokens).sum() / BOOKING.uncachedTokens();
    }

    private WorkerLoad load(String worker) {
      return Objects.requireNonNull(workers.get(worker));
    }

    private Reservation booked(String worker) {
      WorkerLoad load = load(worker);
      return new Reservation() {
        private boolean begun;
        private boolean closed;

        @Override
        public void firstToken() {
          if (!begun) {
            begun = true;
            load.settle(BOOKING);
          }
        }

        @Override
        public void prefillLocally() {}

        @Override
        public void progressed() {}

        @Override
        public void close(Outcome outcome) {
          assertThat(closed).as("closed once").isFalse();
          closed = true;
          firstToken();
          load.release(BOOKING);
        }
      };
    }

    void hear(Cell.Message message) {
      switch (message) {
        case Cell.Declare declare -> {
          if (declare.home() == incarnation) {
            declare.loads().forEach(load -> held.adopt(declare.node(), load, this::book));
          }
        }
        case Cell.ReservationEvents notices -> notices.events().forEach(notice -> held.apply(notices.node(), notice));
        case Cell.Abandon abandon -> held.abandon(abandon.node(), abandon.correlationId());
        default -> throw new AssertionError("not told by reservations: " + message);
      }
    }
  }

  /** A node, what it has in flight, and what it has said that no home has heard yet. */
  private static final class Node {
    final String name;
    final List<Cell.Message> said = new ArrayList<>();
    final HomeNotifier told;
    final InFlightLoads loads;
    final List<RemoteReservation> open = new ArrayList<>();
    final Map<RemoteReservation, String> workers = new HashMap<>();
    final Set<RemoteReservation> begun = new HashSet<>();
    private long last;

    Node(String name) {
      this.name = name;
      this.told = TestHomeNotifier.by(name, said::add);
      this.loads = new InFlightLoads(told);
    }

    /** What it really has in flight on a worker. */
    long onWorker(String worker) {
      return open.stream().filter(one -> worker.equals(workers.get(one))).count();
    }

    RemoteReservation begin(String worker, long home) {
      InFlightLoad load = new InFlightLoad(CorrelationIds.reservation(++last, 0), worker, "m", 100, 50, true, false);
      RemoteReservation begun = new RemoteReservation(load, home, loads, told, () -> {});
      open.add(begun);
      workers.put(begun, worker);
      return begun;
    }

    long lastName() {
      return CorrelationIds.reservation(last, 0);
    }

    /** Gives a question up whose answer nobody has seen. */
    long giveUp() {
      said.add(new Cell.Abandon(name, ++last));
      return lastName();
    }

    /** Has the home hear what was said first, or a notice that has come another way. */
    void beHeard(Home home, SplittableRandom random) {
      if (!said.isEmpty()) {
        int any = random.nextInt(said.size());
        home.hear(said.remove(random.nextBoolean() && said.get(any) instanceof Cell.ReservationEvents ? any : 0));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
  void anyOrder_theLedgerIsWhatIsInFlight(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<Node> nodes = new ArrayList<>(List.of(new Node("a"), new Node("b"), new Node("c")));
    Home home = new Home(1);
    home.members.addAll(List.of("v", "w"));
    int renamed = 0;
    for (int step = 0; step < STEPS; step++) {
      Node node = nodes.get(random.nextInt(nodes.size()));
      switch (random.nextInt(21)) {
        case 0, 1, 2, 3, 4, 5 -> decide(node, home, random);
        case 6, 7 -> node.begin(random.nextBoolean() ? "v" : "w", RemoteReservation.NONE);
        case 8, 9, 10 -> {
          if (!node.open.isEmpty()) {
            RemoteReservation one = node.open.get(random.nextInt(node.open.size()));
            one.firstToken();
            node.begun.add(one);
          }
        }
        case 11, 12, 13, 14 -> {
          if (!node.open.isEmpty()) {
            node.open.remove(random.nextInt(node.open.size())).close(new Outcome.Cancelled());
          }
        }
        case 15, 16, 17 -> node.beHeard(home, random);
        case 18 -> {
          if (random.nextInt(10) == 0) {
            home = moved(home, nodes, random);
          } else if (home.members.add("w")) {
            home.held.adoptEarly(home::book);
          }
        }
        case 19 -> giveUp(node, home, random);
        default -> {
          if (random.nextInt(10) == 0) {
            home.held.closeAllOf(node.name);
            bookLate(node, home, random);
            nodes.set(nodes.indexOf(node), new Node("again-" + ++renamed));
          }
        }
      }
      if (step % 100 == 99) {
        settle(nodes, home);
        undisturbed(nodes, home, random);
      }
    }
    for (Node node : nodes) {
      node.open.forEach(open -> open.close(new Outcome.Cancelled()));
      node.open.clear();
    }
    settle(nodes, home);
    assertThat(home.inFlight()).isZero();
    assertThat(home.pending()).isZero();
  }

  /** Once the home knows all that is in flight, no worker is given more than it takes, whoever asks. */
  private static void undisturbed(List<Node> nodes, Home home, SplittableRandom random) {
    Map<String, Long> most = new HashMap<>();
    home.workers.keySet().forEach(worker -> most.put(worker, Math.max(MOST, onWorker(nodes, worker))));
    for (int step = 0; step < 100; step++) {
      Node node = nodes.get(random.nextInt(nodes.size()));
      switch (random.nextInt(4)) {
        case 0, 1 -> decide(node, home, random);
        case 2 -> {
          if (!node.open.isEmpty()) {
            node.open.remove(random.nextInt(node.open.size())).close(new Outcome.Cancelled());
          }
        }
        default -> node.beHeard(home, random);
      }
      most.forEach((worker, limit) -> assertThat(onWorker(nodes, worker)).isLessThanOrEqualTo(limit));
    }
    settle(nodes, home);
  }

  private static long onWorker(List<Node> nodes, String worker) {
    return nodes.stream().mapToLong(node -> node.onWorker(worker)).sum();
  }

  private static void decide(Node node, Home home, SplittableRandom random) {
    if (home.members.size() == 2) {
      String worker = random.nextBoolean() ? "v" : "w";
      Reservation booked = home.decide(worker);
      if (booked != null) {
        node.begin(worker, home.incarnation);
        home.held.hold(node.name, node.lastName(), booked);
      }
      node.loads.decidedBy(home.incarnation);
    }
  }

  /** A question that is not waited for any more may be decided before that is heard, or after. */
  private static void giveUp(Node node, Home home, SplittableRandom random) {
    long name = node.giveUp();
    if (random.nextBoolean()) {
      node.said.forEach(home::hear);
      node.said.clear();
    }
    Reservation booked = home.decide("v");
    if (booked != null) {
      home.held.hold(node.name, name, booked);
    }
  }

  /** A question of a node that has gone meanwhile. */
  private static void bookLate(Node gone, Home home, SplittableRandom random) {
    Reservation booked = random.nextBoolean() ? home.decide("v") : null;
    if (booked != null) {
      home.held.hold(gone.name, gone.giveUp(), booked);
    }
  }

  /** The next home knows nothing, has not all members at once, and some of what was said is lost with the old one. */
  private static Home moved(Home old, List<Node> nodes, SplittableRandom random) {
    for (Node node : nodes) {
      for (int lost = random.nextInt(node.said.size() + 1); lost > 0; lost--) {
        node.said.removeFirst();
      }
    }
    Home home = new Home(old.incarnation + 1);
    home.members.add("v");
    return home;
  }

  /** When every node has met the home, and everything said has been heard. */
  private static void settle(List<Node> nodes, Home home) {
    if (home.members.add("w")) {
      home.held.adoptEarly(home::book);
    }
    for (Node node : nodes) {
      node.loads.decidedBy(home.incarnation);
      while (!node.said.isEmpty()) {
        home.hear(node.said.removeFirst());
      }
    }
    assertThat(home.inFlight()).isEqualTo(nodes.stream().mapToInt(node -> node.open.size()).sum());
    assertThat(home.pending())
        .isEqualTo(
            nodes.stream()
                .flatMap(node -> node.open.stream().filter(open -> !node.begun.contains(open)))
                .count());
  }

  /** Requests end on other threads while a new home is told of them. */
  @ParameterizedTest
  @ValueSource(ints = {1, 4, 64})
  void whileDeclared_whatEndsIsNotKept(int requests) throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      for (int round = 0; round < 300; round++) {
        List<Cell.Message> said = Collections.synchronizedList(new ArrayList<>());
        HomeNotifier told = TestHomeNotifier.by("n", said::add);
        InFlightLoads loads = new InFlightLoads(told);
        List<RemoteReservation> open = new ArrayList<>();
        for (int i = 0; i < requests; i++) {
          InFlightLoad load = new InFlightLoad(i, "v", "m", 100, 50, true, false);
          open.add(new RemoteReservation(load, RemoteReservation.NONE, loads, told, () -> {}));
        }
        CyclicBarrier together = new CyclicBarrier(2);
        Future<?> ending = threads.submit(() -> {
          together.await();
          for (RemoteReservation one : open) {
            one.firstToken();
            one.close(new Outcome.Cancelled());
          }
          return null;
        });
        Future<?> declaring = threads.submit(() -> {
          together.await();
          loads.decidedBy(1);
          return null;
        });
        ending.get();
        declaring.get();
        Home home = new Home(1);
        home.members.add("v");
        said.forEach(home::hear);
        assertThat(home.inFlight()).isZero();
        assertThat(home.pending()).isZero();
      }
    }
  }
}
