package io.kvasir.index;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Scanner;
import java.util.Set;
import java.util.stream.Stream;
import org.jetbrains.kotlinx.lincheck.Actor;
import org.jetbrains.kotlinx.lincheck.execution.ExecutionScenario;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;

/**
 * Small indexes that Lincheck drives through their interleavings, switching threads at every access to
 * shared memory, and compares with {@link Spec}: two workers, two chains, each call one block.
 *
 * <p>A search of one worker is linearizable when blocks come and go at the end of what it holds: a depth
 * d says that it held block d at one moment and not block d + 1 at another, and between them there
 * is one at which its depth was d. So what is checked is that no holder is ever invented, and none missed.
 */
@Param(name = "slot", gen = IntGen.class, conf = "0:1")
@Param(name = "chain", gen = IntGen.class, conf = "0:1")
public abstract class IndexModel {
  /** Which model, and the scenarios that are worth more than chance: what comes before, and two threads. */
  enum Kind {
    /** Two chains of one block in one shard: they use the same segment in turn. */
    REUSE(
        Reuse.class,
        Two.class,
        """
        push 0 0 | search 1 0 | pop 0 0, push 1 1
        push 0 0 | search 1 0, search 0 1 | pop 0 0, push 1 1
        push 0 0 | push 1 0, search 1 0 | pop 0 0, search 0 0
        | push 0 0, search 0 0 | push 1 0, search 1 0
        """),
    /** The same in a table that the next segment makes too full: it is replaced beside its readers. */
    TABLE(
        Table.class,
        Two.class,
        """
        push 0 0 | search 0 0, search 1 1 | push 1 1, search 1 1
        push 0 0 | search 0 0 | pop 1 0, push 1 1
        | push 0 0, search 0 0 | push 1 1, search 1 1
        """),
    /** Two chains whose home bucket has one slot left: the second to come goes to the next bucket. */
    CROWD(
        Crowd.class,
        Two.class,
        """
        push 0 0 | search 0 1, search 1 0 | pop 0 0, push 1 1
        push 0 0, push 1 1 | search 1 1, search 0 0 | pop 0 0, pop 1 1
        push 0 0, push 1 1 | pop 0 0, push 0 0 | search 1 1, pop 1 1
        | push 0 0, search 0 0 | push 1 1, search 1 1
        """),
    /** Two chains that part after their first block: the second to come is a segment of its own. */
    FORK(
        Fork.class,
        Forked.class,
        """
        push 0 0, push 1 0 | push 0 0, search 0 0 | push 1 1, search 1 1
        push 0 0, push 0 0, push 1 1 | pop 0 0, pop 0 0, push 0 0 | push 1 1, search 1 1
        push 0 0, push 0 0 | search 0 1, search 0 0 | pop 0 0, push 0 1
        """),
    /** Chains whose next blocks stand in the next segment, where one parts from the other. */
    CROSSING(
        Crossing.class,
        Forked.class,
        """
        | push 0 0, push 0 0 | push 1 1, push 1 1
        push 0 0, push 0 0 | search 0 0, search 0 1 | pop 0 0, pop 0 0, push 0 1
        push 0 0, push 0 0 | push 1 0, push 1 0 | pop 0 0, pop 0 0
        push 1 0, push 1 0 | search 1 1 | push 0 0, push 0 0, pop 1 0, push 1 1
        """),
    /** A worker leaves its slot, is swept, and another one takes it. */
    RENEWAL(
        Renewal.class,
        Two.class,
        """
        push 0 0 | search 0 0, search 0 1 | renew 0, push 0 1
        push 0 0, push 1 0 | push 1 1, pop 1 0, search 1 1 | renew 0
        push 0 0, push 1 1 | renew 0, search 1 1 | renew 1, search 0 0
        """),
    /** A worker is handed over into a wider index beside the other's writes, and goes on there. */
    MOVE(
        Move.class,
        Forked.class,
        """
        push 0 0, push 1 1 | move 0, push 0 0, search 0 0 | push 1 1, pop 1 1, push 1 0
        push 0 0, push 0 0, push 1 1 | move 0, search 0 0 | pop 1 1, push 1 0, move 1
        push 0 0, push 1 0 | move 0, pop 0 0 | move 1, push 1 1, search 1 1
        """);

    private final Class<? extends IndexModel> model;
    private final Class<? extends Spec> spec;
    private final String scenarios;

    Kind(Class<? extends IndexModel> model, Class<? extends Spec> spec, String scenarios) {
      this.model = model;
      this.spec = spec;
      this.scenarios = scenarios;
    }

    /**
     * Looks for an interleaving that is not linearizable.
     *
     * @param random scenarios made up at random, beside those of the model
     * @param interleavings of each scenario, those with few switches of threads first
     * @throws AssertionError when there is one; it shows the trace
     */
    void check(int random, int interleavings) {
      // A worker's map is its writer's own, behind a monitor: no other thread can come between its accesses.
      ModelCheckingOptions options =
          new ModelCheckingOptions()
              .iterations(random)
              .invocationsPerIteration(interleavings)
              .threads(2)
              .actorsBefore(3)
              .actorsPerThread(3)
              .actorsAfter(2)
              .sequentialSpecification(spec)
              .loopBound(1_000_000)
              .loopIterationsBeforeThreadSwitch(10_000)
              .addGuarantee(
                  ManagedStrategyGuaranteeKt.forClasses(KeyMap.class.getName(), Budget.class.getName())
                      .allMethods()
                      .ignore());
      scenarios.lines().map(IndexModel::scenario).forEach(options::addCustomScenario);
      options.check(model);
    }
  }

  private static final long[][] SAME_BUCKET = sameBucket();

  private final BlockIndex index;
  private final Object[] turns = {new Object(), new Object()};
  private final WorkerBlocks[] workers = new WorkerBlocks[2];
  private final BlockIndex[] homes = new BlockIndex[2];
  private final long[][] chains;
  private final int trunk;

  private IndexModel(long[][] chains, int trunk, int crowd) {
    this.index = new BlockIndex(64, 64 << 20);
    this.chains = chains;
    this.trunk = trunk;
    for (int slot = 0; slot < workers.length; slot++) {
      workers[slot] = index.open(slot);
      homes[slot] = index;
      if (trunk > 0) {
        workers[slot].store(0, true, chains[0], chains[0], trunk, Tier.DEVICE, false);
      }
    }
    WorkerBlocks other = index.open(63);
    for (long hash = chains[0][0] + 1000; crowd > 0; hash++) {
      if (meet(chains[0][0], hash)) {
        other.store(0, true, new long[] {hash}, new long[] {hash}, 1, Tier.DEVICE, false);
        crowd--;
      }
    }
  }

  public static final class Reuse extends IndexModel {
    public Reuse() {
      super(SAME_BUCKET, 0, 0);
    }
  }

  public static final class Table extends IndexModel {
    public Table() {
      super(SAME_BUCKET, 0, 15); // the next one but one widens the table
    }
  }

  public static final class Crowd extends IndexModel {
    public Crowd() {
      super(SAME_BUCKET, 0, Tags.SLOTS - 1);
    }
  }

  public static final class Fork extends IndexModel {
    public Fork() {
      super(fork(1, 2), 0, 0);
    }
  }

  public static final class Crossing extends IndexModel {
    public Crossing() {
      super(fork(Segments.ROWS + 1, Segments.ROWS + 2), Segments.ROWS, 0);
    }
  }

  public static final class Renewal extends IndexModel {
    public Renewal() {
      super(SAME_BUCKET, 0, 0);
    }

    @Operation(nonParallelGroup = "lives")
    public void renew(@Param(name = "slot") int slot) {
      super.renewed(slot);
    }
  }

  public static final class Move extends IndexModel {
    private final BlockIndex wide = new BlockIndex(128, 64 << 20);

    public Move() {
      super(fork(1, 2), 0, 0);
    }

    @Operation
    public void move(@Param(name = "slot") int slot) {
      super.moved(slot, wide);
    }
  }

  /** Stores the chain's next block. */
  @Operation
  public void push(@Param(name = "slot") int slot, @Param(name = "chain") int chain) {
    synchronized (turns[slot]) {
      WorkerBlocks worker = worker(slot);
      int at = trunk;
      while (at < chains[chain].length && worker.hashOf(chains[chain][at]) != BlockHash.NONE) {
        at++;
      }
      if (at < chains[chain].length) {
        long[] block = {chains[chain][at]};
        worker.store(at == 0 ? 0 : chains[chain][at - 1], at == 0, block, block, 1, Tier.DEVICE, false);
      }
    }
  }

  /** Removes the chain's last block, if the other chain does not go on from it. */
  @Operation
  public void pop(@Param(name = "slot") int slot, @Param(name = "chain") int chain) {
    long[] other = chains[1 - chain];
    synchronized (turns[slot]) {
      WorkerBlocks worker = worker(slot);
      int last = chains[chain].length - 1;
      while (last >= trunk && worker.hashOf(chains[chain][last]) == BlockHash.NONE) {
        last--;
      }
      boolean shared = last >= 0 && last + 1 < other.length && other[last] == chains[chain][last];
      if (last >= trunk && !(shared && worker.hashOf(other[last + 1]) != BlockHash.NONE)) {
        worker.remove(chains[chain][last], Tier.DEVICE, false);
      }
    }
  }

  /** The worker's depth in the chain, beyond the trunk. */
  @Operation
  public int search(@Param(name = "slot") int slot, @Param(name = "chain") int chain) {
    BlockIndex home;
    synchronized (workers) {
      home = homes[slot];
    }
    return home.search(new Chain(chains[chain], 16), new long[] {1L << slot, 0}, new int[128]) - trunk;
  }

  private WorkerBlocks worker(int slot) {
    synchronized (workers) {
      return workers[slot];
    }
  }

  void renewed(int slot) {
    index.retire(slot);
    index.sweep(slot);
    WorkerBlocks next = index.open(slot);
    synchronized (workers) {
      workers[slot] = next;
    }
  }

  void moved(int slot, BlockIndex wide) {
    synchronized (turns[slot]) {
      if (homes[slot] == wide) {
        return;
      }
      WorkerBlocks heir = wide.open(slot);
      WorkerBlocks worker = worker(slot);
      worker.handOver().forEachRemaining(heir::take);
      worker.succeededBy(heir);
      synchronized (workers) {
        workers[slot] = heir;
        homes[slot] = wide;
      }
    }
  }

  private static long[][] sameBucket() {
    long other = 2;
    while (!meet(1, other)) {
      other++;
    }
    return new long[][] {{1}, {other}};
  }

  /** Whether two blocks have the same home bucket in the same shard's first table. */
  private static boolean meet(long hash, long other) {
    long one = Segments.mix(hash);
    long two = Segments.mix(other);
    return Shard.of(one) == Shard.of(two) && Shard.home(one, Shard.LEAST) == Shard.home(two, Shard.LEAST);
  }

  /** Two chains that share their first blocks. */
  private static long[][] fork(int shared, int length) {
    long[][] chains = new long[2][length];
    for (int i = 0; i < length; i++) {
      chains[0][i] = 1001L + i;
      chains[1][i] = i < shared ? 1001L + i : 2001L + i;
    }
    return chains;
  }

  private static ExecutionScenario scenario(String line) {
    List<List<Actor>> parts = Stream.of(line.split("\\|", 3)).map(IndexModel::actors).toList();
    List<Actor> after = actors("search 0 0, search 0 1, search 1 0, search 1 1");
    return new ExecutionScenario(parts.getFirst(), parts.subList(1, 3), after, null);
  }

  private static List<Actor> actors(String calls) {
    List<Actor> actors = new ArrayList<>();
    for (String call : calls.strip().split(", ", -1)) {
      List<Integer> arguments = new ArrayList<>();
      Scanner words = new Scanner(call);
      String operation = words.hasNext() ? words.next() : "";
      while (words.hasNextInt()) {
        arguments.add(words.nextInt());
      }
      if (!operation.isEmpty()) {
        actors.add(actor(operation, arguments));
      }
    }
    return actors;
  }

  private static Actor actor(String operation, List<Integer> arguments) {
    Class<?>[] types = new Class<?>[arguments.size()];
    Arrays.fill(types, int.class);
    try {
      Class<?> model = operation.equals("move") ? Move.class : Renewal.class;
      return new Actor(model.getMethod(operation, types), List.copyOf(arguments));
    } catch (NoSuchMethodException e) {
      throw new IllegalArgumentException(operation, e);
    }
  }

  /** What a model must look like from outside. */
  public abstract static class Spec {
    private final int[][] chains;
    private final List<Set<Integer>> held = List.of(new HashSet<>(), new HashSet<>());

    private Spec(int[][] chains) {
      this.chains = chains;
    }

    public void push(int slot, int chain) {
      for (int block : chains[chain]) {
        if (held.get(slot).add(block)) {
          return;
        }
      }
    }

    public void pop(int slot, int chain) {
      int depth = search(slot, chain);
      boolean shared = depth < 2 && chains[0][0] == chains[1][0] && search(slot, 1 - chain) > depth;
      if (depth > 0 && !shared) {
        held.get(slot).remove(chains[chain][depth - 1]);
      }
    }

    public int search(int slot, int chain) {
      int depth = 0;
      while (depth < chains[chain].length && held.get(slot).contains(chains[chain][depth])) {
        depth++;
      }
      return depth;
    }

    public void renew(int slot) {
      held.get(slot).clear();
    }

    public void move(int slot) {}
  }

  public static final class Two extends Spec {
    public Two() {
      super(new int[][] {{1}, {2}});
    }
  }

  public static final class Forked extends Spec {
    public Forked() {
      super(new int[][] {{1, 2}, {1, 3}});
    }
  }
}
