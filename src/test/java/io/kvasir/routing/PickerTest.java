package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import io.kvasir.index.Chain;
import io.kvasir.routing.Selection.Chosen;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What every picker keeps to, and what each is for. */
final class PickerTest {
  private static final PluginRegistry REGISTRY = BuiltInPlugins.registry(CostModel.bundled(), new OutputLengths());

  private static final Worker[] WORKERS = TestFleet.of(256).workers;

  private final Routing routing = new Routing(3);

  static Stream<PluginType<?>> pickers() {
    return REGISTRY.types(Stage.PICK).stream();
  }

  @ParameterizedTest
  @MethodSource("pickers")
  void pick_anyCandidates_ranksSomeOfThemOnce(PluginType<?> type) {
    RandomGenerator random = new SplittableRandom(1);
    Picker picker = make(type);
    for (int i = 0; i < 2000; i++) {
      Candidates candidates = new Candidates(256);
      candidates.workers = WORKERS;
      double[] scores = new double[256];
      int count = 1 + random.nextInt(random.nextInt(4) == 0 ? 256 : 6);
      for (int j = 0; j < count; j++) {
        int slot = random.nextInt(256);
        candidates.live[slot >>> 6] |= 1L << slot;
        candidates.inFlight[slot] = random.nextInt(3);
        scores[slot] = random.nextInt(5) == 0 ? -1e300 : random.nextInt(-2, 3) * 1e6;
      }
      long[] before = candidates.live.clone();
      int[] ranked = new int[Scratch.RANKED];

      int picked = picker.pick(context(random, false), candidates, scores, ranked);

      assertThat(picked).isBetween(1, Math.min(ranked.length, candidates.count()));
      int[] slots = Arrays.copyOf(ranked, picked);
      assertThat(slots).doesNotHaveDuplicates();
      assertThat(Arrays.stream(slots)).allMatch(candidates::has);
      assertThat(candidates.live).isEqualTo(before);
    }
  }

  /** All but those that send equal requests to one worker on purpose. */
  static Stream<PluginType<?>> spreadingPickers() {
    return pickers().filter(type -> !type.name().equals("consistent-hash"));
  }

  @ParameterizedTest
  @MethodSource("spreadingPickers")
  void pick_equalCandidates_givesEachItsShare(PluginType<?> type) {
    int[] chosen = new int[10];
    Picker picker = make(type);
    RoutingContext context = context(new SplittableRandom(2), false);
    for (int i = 0; i < 20_000; i++) {
      int[] ranked = new int[Scratch.RANKED];
      picker.pick(context, candidates(10), new double[64], ranked);
      chosen[ranked[0]]++;
    }

    assertThat(Arrays.stream(chosen)).allMatch(count -> count > 1800 && count < 2200);
  }

  @ParameterizedTest
  @MethodSource("pickers")
  void pick_dryRun_isNotRemembered(PluginType<?> type) {
    Picker looked = make(type);
    Picker left = make(type);
    RandomGenerator random = new SplittableRandom(4);
    List<Integer> afterLooking = new ArrayList<>();
    List<Integer> untouched = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      looked.pick(context(random, true), candidates(7), new double[64], new int[Scratch.RANKED]);
      afterLooking.add(first(looked, i));
      untouched.add(first(left, i));
    }

    assertThat(afterLooking).isEqualTo(untouched);
  }

  @Test
  void maxScore_ranksByScoreThenFewestInFlight() {
    Candidates candidates = candidates(6);
    candidates.inFlight[1] = 2;
    candidates.inFlight[4] = 1;
    candidates.inFlight[5] = 3;
    double[] scores = new double[64];
    Arrays.setAll(scores, slot -> slot == 1 || slot == 4 || slot == 5 ? 9 : slot);
    int[] ranked = new int[Scratch.RANKED];

    make("max-score").pick(context(new SplittableRandom(5), false), candidates, scores, ranked);

    assertThat(ranked).containsExactly(4, 1, 5, 3);
  }

  @Test
  void weightedRandom_followsTheSoftmax() {
    Picker picker =
        (Picker)
            type("weighted-random").make()
                .apply(new Parameters(ConfigFactory.parseString("temperature = 0.5").root(), null));
    RoutingContext context = context(new SplittableRandom(6), false);
    int best = 0;
    for (int i = 0; i < 20_000; i++) {
      double[] scores = new double[64];
      scores[1] = 100;
      int[] ranked = new int[Scratch.RANKED];
      picker.pick(context, candidates(2), scores, ranked);
      best += ranked[0];
    }

    assertThat(best / 20_000.0).isBetween(0.87, 0.89); // 1 / (1 + e^(-1 / 0.5)) = 0.881
  }

  @Test
  void powerOfTwo_neverTakesTheWorseOfTwo() {
    TestFleet fleet = TestFleet.of(2);
    fleet.inFlight[0] = 50;
    Selector selector = routing.picking("score { plugin = least-load }, pick = power-of-two");

    for (int i = 0; i < 50; i++) {
      assertThat(selector.select(fleet, Routing.request(1, 16, 20)))
          .isInstanceOfSatisfying(Chosen.class, chosen -> assertThat(chosen.slot()).isEqualTo(1));
    }
  }

  @Test
  void consistentHash_workerGone_movesOnlyItsOwnKeys() {
    Selector selector = routing.picking("pick { plugin = consistent-hash, load-factor = 1000 }");
    TestFleet fleet = TestFleet.of(10);
    int[] home = new int[500];
    for (int key = 0; key < home.length; key++) {
      home[key] = chosen(selector, fleet, key);
      assertThat(chosen(selector, fleet, key)).isEqualTo(home[key]);
      Arrays.fill(fleet.inFlight, 0);
    }
    int[] share = new int[10];
    Arrays.stream(home).forEach(slot -> share[slot]++);
    assertThat(Arrays.stream(share)).allMatch(count -> count > 25 && count < 85);

    fleet.alive[4] = false;

    for (int key = 0; key < home.length; key++) {
      assertThat(home[key] == 4 || chosen(selector, fleet, key) == home[key]).isTrue();
      Arrays.fill(fleet.inFlight, 0);
    }
  }

  @Test
  void consistentHash_oneKey_spillsOverAtTheBound() {
    Selector selector = routing.picking("pick { plugin = consistent-hash, load-factor = 1.25 }");
    TestFleet fleet = TestFleet.of(4);
    for (int i = 0; i < 200; i++) {
      chosen(selector, fleet, 7);
    }

    assertThat(Arrays.stream(fleet.inFlight).max().orElseThrow()).isBetween(60, 63);
    assertThat(Arrays.stream(fleet.inFlight).sum()).isEqualTo(200);
  }

  private static int chosen(Selector selector, TestFleet fleet, int key) {
    RoutingContext request =
        Routing.request("m", Role.BOTH, Set.of())
            .put(Slots.PROMPT_TOKENS, 100L)
            .put(Slots.CHAIN, new Chain(new long[] {1, 1000 + key, 2000 + key}, 16));
    return ((Chosen) selector.select(fleet, request)).slot();
  }

  @Test
  void session_staysWithItsWorker_whateverScoresSay() {
    Selector selector = routing.picking("score = least-load, pick = session");
    TestFleet fleet = TestFleet.of(4);
    int home = session(selector, fleet, "s");
    for (int i = 0; i < 20; i++) {
      assertThat(session(selector, fleet, "s")).isEqualTo(home);
    }
    for (int other = 0; other < 3; other++) {
      assertThat(session(selector, fleet, "t" + other)).isNotEqualTo(home);
    }
  }

  @Test
  void session_whoseWorkerGoes_movesAndStaysWhereItWent() {
    Selector selector = routing.picking("score = least-load, pick = session");
    TestFleet fleet = TestFleet.of(4);
    int home = session(selector, fleet, "s");
    fleet.alive[home] = false;

    int next = session(selector, fleet, "s");
    fleet.alive[home] = true;

    assertThat(next).isNotEqualTo(home);
    assertThat(session(selector, fleet, "s")).isEqualTo(next);
  }

  @Test
  void session_whoseWorkerIsFull_movesAndStaysWhereItWent() {
    Selector selector = routing.picking("filter = [ role, model, excluded ], score = least-load, pick = session");
    TestFleet fleet = TestFleet.of(3);
    int home = session(selector, fleet, "s");
    fleet.inFlight[home] = fleet.workers[home].maxInFlight();

    int next = session(selector, fleet, "s");
    fleet.inFlight[home] = 0;

    assertThat(next).isNotEqualTo(home);
    assertThat(session(selector, fleet, "s")).isEqualTo(next);
  }

  @Test
  void session_quietForItsTime_beginsAnew() {
    AtomicLong nanos = new AtomicLong(5);
    Selector selector =
        routing.picking("score = least-load, pick { plugin = session, ttl = 10 s }", nanos::get);
    TestFleet fleet = TestFleet.of(2);
    int home = session(selector, fleet, "s");
    nanos.addAndGet(9_000_000_000L);
    assertThat(session(selector, fleet, "s")).isEqualTo(home);
    nanos.addAndGet(9_000_000_000L);
    assertThat(session(selector, fleet, "s")).isEqualTo(home);
    nanos.addAndGet(11_000_000_000L);

    assertThat(session(selector, fleet, "s")).isNotEqualTo(home);
  }

  @Test
  void session_none_goesByScore() {
    Selector selector = routing.picking("score = least-load, pick = session");
    TestFleet fleet = TestFleet.of(3);
    for (int i = 0; i < 30; i++) {
      session(selector, fleet, "");
    }
    assertThat(Arrays.copyOf(fleet.inFlight, 3)).containsOnly(10);
  }

  /** As of a cell that has moved: what other nodes remember of a session counts until it is known here. */
  @Test
  void session_thatOthersRemember_goesBack_whereverThatIsTheFirstOfIt() {
    Selector selector = routing.picking("score = least-load, pick = session");
    TestFleet fleet = TestFleet.of(4);
    String third = fleet.workers[3].id();

    assertThat(session(selector, fleet, "s", "elsewhere," + third)).isEqualTo(3);
    assertThat(session(selector, fleet, "s", fleet.workers[1].id())).as("known here").isEqualTo(3);
    fleet.alive[3] = false;
    assertThat(session(selector, fleet, "t", third)).isNotEqualTo(3);
  }

  /** A picker knows all sessions that have not expired once it is as old as they may be. */
  @Test
  void session_thatOthersRemember_butMustHaveExpired_beginsAnew() {
    AtomicLong nanos = new AtomicLong(5);
    Selector selector =
        routing.picking("score = least-load, pick { plugin = session, ttl = 10 s }", nanos::get);
    TestFleet fleet = TestFleet.of(2);
    assertThat(session(selector, fleet, "s", fleet.workers[0].id())).isZero();
    nanos.addAndGet(11_000_000_000L);

    assertThat(session(selector, fleet, "t", fleet.workers[0].id())).isEqualTo(1);
  }

  private static int session(Selector selector, TestFleet fleet, String session) {
    return session(selector, fleet, session, "");
  }

  private static int session(Selector selector, TestFleet fleet, String session, String elsewhere) {
    RoutingContext request =
        Routing.request(1, 16, 20).put(Slots.SESSION_KEY, session).put(Slots.SESSION_WORKERS, elsewhere);
    return ((Chosen) selector.select(fleet, request)).slot();
  }

  @Test
  void roundRobin_manyThreads_nobodyIsTwoTurnsAhead() throws Exception {
    TestFleet fleet = TestFleet.of(7);
    Arrays.setAll(
        fleet.workers, slot -> slot < 7 ? TestFleet.worker(slot, Role.BOTH, Set.of("m"), 1_000_000, "") : null);
    Selector selector = routing.selector("round-robin");
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<?>> done = new ArrayList<>();
      for (int thread = 0; thread < 4; thread++) {
        done.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < 2503; i++) {
                    selector.select(fleet, Routing.request(1, 16, 20));
                  }
                }));
      }
      for (Future<?> thread : done) {
        thread.get();
      }
    }

    int[] turns = Arrays.copyOf(fleet.inFlight, 7);
    assertThat(Arrays.stream(turns).sum()).isEqualTo(4 * 2503);
    assertThat(Arrays.stream(turns).max().orElseThrow() - Arrays.stream(turns).min().orElseThrow())
        .isLessThanOrEqualTo(1);
  }

  /** A counter modulo the candidates would send every request for one model to the same worker here. */
  @Test
  void roundRobin_alternatingModels_isFairWithinEach() {
    Worker[] workers = new Worker[4];
    Arrays.setAll(workers, slot -> TestFleet.worker(slot, Role.BOTH, Set.of(slot < 2 ? "a" : "b"), 1000, ""));
    TestFleet fleet = new TestFleet(workers);
    Selector selector = routing.selector("round-robin");
    for (int i = 0; i < 400; i++) {
      selector.select(fleet, Routing.request(i % 2 == 0 ? "a" : "b", Role.BOTH, Set.of()));
    }

    assertThat(Arrays.copyOf(fleet.inFlight, 4)).containsOnly(100);
  }

  /** One cell's turns must not be taken by another's. */
  @Test
  void roundRobin_twoSelectorsOfOneProfile_takeTurnsApart() {
    Selector one = routing.selector("round-robin");
    Selector other = routing.selector("round-robin");
    TestFleet first = TestFleet.of(2);
    TestFleet second = TestFleet.of(2);
    for (int i = 0; i < 40; i++) {
      one.select(first, Routing.request(1, 16, 20));
      other.select(second, Routing.request(1, 16, 20));
    }

    assertThat(Arrays.copyOf(first.inFlight, 2)).containsOnly(20);
    assertThat(Arrays.copyOf(second.inFlight, 2)).containsOnly(20);
  }

  private static int first(Picker picker, int seed) {
    int[] ranked = new int[Scratch.RANKED];
    picker.pick(context(new SplittableRandom(seed), false), candidates(7), new double[64], ranked);
    return ranked[0];
  }

  private static Candidates candidates(int count) {
    Candidates candidates = new Candidates(64);
    candidates.workers = WORKERS;
    candidates.live[0] = -1L >>> (64 - count);
    return candidates;
  }

  private static RoutingContext context(RandomGenerator random, boolean dryRun) {
    RoutingContext context = Routing.request(1, 16, 20)
        .put(Slots.HASH_KEY, 5).put(Slots.SESSION_KEY, "").put(Slots.SESSION_WORKERS, "");
    context.begin(random, () -> 0, dryRun);
    return context;
  }

  private static Picker make(String name) {
    return make(type(name));
  }

  private static Picker make(PluginType<?> type) {
    return (Picker) type.make().apply(new Parameters(ConfigFactory.empty().root(), null));
  }

  private static PluginType<?> type(String name) {
    return pickers().filter(type -> type.name().equals(name)).findFirst().orElseThrow();
  }
}
