package io.kvasir.lab.rules;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.Fleet;
import io.kvasir.routing.Profile;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.RoutingMetrics;
import io.kvasir.routing.Selection;
import io.kvasir.routing.Selector;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

final class PublishedRulesTest {
  private static final int WORKERS = 8;
  private static final int BLOCK = 100;

  private final PublishedRules rules = new PublishedRules(1_000);
  private final Columns fleet = new Columns();
  private final SplittableRandom random = new SplittableRandom(1);

  @Test
  void dualMap_promptsThatBeginAlike_meetAtTwoWorkers() {
    Selector selector = selector("dual-map");
    for (int begin = 1; begin < 40; begin++) {
      Set<Integer> slots = new TreeSet<>();
      for (int i = 0; i < 20; i++) {
        load();
        slots.add(chosen(selector, begin, 1_000 + random.nextInt(1_000)));
      }
      assertThat(slots).hasSize(2);
    }
  }

  @Test
  void dualMap_promptsThatBeginOtherwise_reachAllWorkersEvenly() {
    Selector selector = selector("dual-map");
    int[] count = new int[WORKERS];
    for (int i = 0; i < 4_000; i++) {
      count[chosen(selector, 1_000 + i, 2)]++;
    }
    assertThat(Arrays.stream(count).min().orElse(0)).isGreaterThan(350);
  }

  @Test
  void dualMap_aBeginningThatMostHave_isMadeLonger() {
    Selector selector = selector("dual-map");
    Set<Integer> slots = new TreeSet<>();
    for (int i = 0; i < 2_000; i++) {
      slots.add(chosen(selector, 1, 1_000 + i));
    }
    assertThat(slots).as("by their second blocks").hasSize(WORKERS);
  }

  @Test
  void dualMap_prefersTheCache_whileItsFirstTokenIsInTime() {
    Selector selector = selector("dual-map");
    List<Integer> two = twoOf(selector);
    fleet.depth[two.getFirst()] = 1;

    fleet.queueMs[two.getFirst()] = 500;
    assertThat(chosen(selector, 7, 8)).isEqualTo(two.getFirst());

    fleet.queueMs[two.getFirst()] = 1_500;
    assertThat(chosen(selector, 7, 8)).isEqualTo(two.getLast());

    fleet.queueMs[two.getLast()] = 2_500;
    assertThat(chosen(selector, 7, 8)).as("both late").isEqualTo(two.getFirst());
  }

  private List<Integer> twoOf(Selector selector) {
    Set<Integer> two = new TreeSet<>();
    for (int i = 0; i < 20; i++) {
      load();
      two.add(chosen(selector, 7, 8));
    }
    Arrays.fill(fleet.queueMs, 0);
    return new ArrayList<>(two);
  }

  @Test
  void lodestar_beforeAllAreKnown_isTheLeastWorkLeft() {
    Arrays.fill(fleet.pendingTokens, 2_000);
    fleet.pendingTokens[5] = 0;

    assertThat(chosen(selector("lodestar { score { plugin = lodestar, explore = 0 } }", "lodestar"), 1)).isEqualTo(5);
  }

  @Test
  void lodestar_aSlowWorker_isFoundOutAndLeftAlone() {
    Selector selector = selector("lodestar");
    int late = 0;
    int slow = 0;
    for (int i = 0; i < 3_000; i++) {
      load();
      int slot = chosen(selector, i + 1, i + 2, i + 3, i + 4);
      rules.sent(i);
      double msPerToken = slot == 3 ? 5 : 0.5;
      rules.firstToken(i, 20 + msPerToken * (fleet.pendingTokens[slot] + 4 * BLOCK));
      if (i >= 1_000) {
        late++;
        slow += slot == 3 ? 1 : 0;
      }
    }
    assertThat(slow).as("of %d, one of eight by chance", late).isBetween(1, late / 40);
  }

  @Test
  void lodestar_aWorkerThatRecovers_isUsedAgain() {
    Selector selector = selector("lodestar");
    int slow = 0;
    for (int i = 0; i < 12_000; i++) {
      load();
      int slot = chosen(selector, i + 1, i + 2, i + 3, i + 4);
      rules.sent(i);
      double msPerToken = slot == 3 && i < 2_000 ? 5 : 0.5;
      rules.firstToken(i, 20 + msPerToken * (fleet.pendingTokens[slot] + 4 * BLOCK));
      slow += slot == 3 && i >= 10_000 ? 1 : 0;
    }
    assertThat(slow).isGreaterThan(2_000 / 40);
  }

  private void load() {
    for (int slot = 0; slot < WORKERS; slot++) {
      fleet.pendingTokens[slot] = random.nextInt(10_000);
      fleet.queueMs[slot] = fleet.pendingTokens[slot] * 0.05;
    }
  }

  private Selector selector(String profile) {
    return selector("", profile);
  }

  private Selector selector(String settings, String name) {
    CostModel costs = CostModel.bundled();
    Profile profile = rules.compile(ConfigFactory.parseString(settings), costs, new OutputLengths()).get(name);
    RoutingMetrics metrics = new RoutingMetrics(new Metrics(new PrometheusRegistry()));
    return new Selector(Objects.requireNonNull(profile), costs, new SplittableRandom(2), metrics, () -> 0);
  }

  /** The slot chosen for a prompt of full blocks with these hashes and one token more. */
  private int chosen(Selector selector, long... hashes) {
    RoutingContext context =
        new RoutingContext("r", "m", Role.BOTH, Set.of())
            .put(Slots.PROMPT_TOKENS, (long) hashes.length * BLOCK + 1)
            .put(Slots.CHAIN, new Chain(hashes, BLOCK));
    return ((Selection.Chosen) selector.select(fleet, context)).slot();
  }

  /** A fleet that is what its columns say. */
  private static final class Columns implements Fleet {
    private final Worker[] workers = new Worker[64];
    private final long[] pendingTokens = new long[WORKERS];
    private final double[] queueMs = new double[WORKERS];
    private final int[] depth = new int[WORKERS];

    Columns() {
      for (int slot = 0; slot < WORKERS; slot++) {
        URI url = URI.create("http://w" + slot);
        workers[slot] =
            new Worker(
                "w" + slot, "w" + slot, url, 0, 1, slot, Role.BOTH, Set.of("m"), Map.of(), 100,
                "h100-Qwen2.5-7B-tp1", null);
      }
    }

    @Override
    public int slots() {
      return workers.length;
    }

    @Override
    public void snapshot(Candidates candidates) {
      candidates.workers = workers;
      Arrays.fill(candidates.live, 0);
      for (int slot = 0; slot < WORKERS; slot++) {
        candidates.live[0] |= 1L << slot;
        candidates.pendingTokens[slot] = pendingTokens[slot];
        candidates.queueMs[slot] = queueMs[slot];
      }
    }

    @Override
    public void search(Chain chain, Candidates candidates) {
      for (int slot = 0; slot < WORKERS; slot++) {
        candidates.depth[slot] = Math.min(depth[slot], chain.length());
      }
    }

    @Override
    public boolean reserve(int slot, Booking booking) {
      return true;
    }

    @Override
    public void cancel(int slot, Booking booking) {}
  }
}
