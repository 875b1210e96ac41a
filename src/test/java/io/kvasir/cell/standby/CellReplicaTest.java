package io.kvasir.cell.standby;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.events.BlockChangeListener;
import io.kvasir.cell.events.CacheGroups;
import io.kvasir.cell.events.EventApplier;
import io.kvasir.cell.events.EventCheckpoint;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.events.KvEvent.Removed;
import io.kvasir.events.KvEvent.Spec;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.index.BlockHash;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.index.HandOver;
import io.kvasir.index.Tier;
import io.kvasir.index.WorkerBlocks;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pekko.actor.testkit.typed.javadsl.TestInbox;
import org.apache.pekko.actor.typed.ActorRef;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A cell's copy against the index it is a copy of, over a way that loses what it likes. */
final class CellReplicaTest {
  private static final int BLOCK = 4;

  /** Different ones, so few that workers and branches meet in the same blocks. */
  private static final int TOKENS = 3;

  private static final int WORKERS = 3;
  private static final long BUDGET = 1 << 26;
  private static final ActorRef<Standby.Acknowledged> NOBODY = TestInbox.<Standby.Acknowledged>create().getRef();

  private final AtomicLong now = new AtomicLong();
  private final BlockIndex index = new BlockIndex(64, BUDGET);
  private final List<Home> homes = new ArrayList<>();
  private final Deque<ReplicaFrame> toCopy = new ArrayDeque<>();
  private CellReplica copy = new CellReplica(BUDGET);

  /** Whether homes pass on nothing of groups. */
  private boolean earlierVersion;

  /** One worker at home: its engine's events, applied and told. */
  private final class Home {
    private final int slot;
    private final WorkerBlocks blocks;
    private final ReplicaFeed feed = new ReplicaFeed();
    private final EventApplier applier;
    private final Engine engine;
    private ReplicaLag lag = new ReplicaLag();
    private @Nullable ReplicaLink link;

    Home(int slot, long seed) {
      this.slot = slot;
      this.blocks = index.open(slot);
      this.applier = new EventApplier(blocks, BLOCK, feed);
      this.engine = new Engine(slot, new SplittableRandom(seed + slot));
    }

    String id() {
      return "w" + slot;
    }

    void copyTo() {
      lag = new ReplicaLag();
      ReplicaLink made = new ReplicaLink(this::send, lag, now::get);
      link = made;
      feed.add("node", made);
    }

    private void send(long stream, long number, boolean finishes, ReplicaChanges payload) {
      assertThat(payload.size()).as("bytes of a frame").isLessThan(200_000);
      toCopy.add(
          new ReplicaFrame(
              7, 64, id(), slot, 100, stream, number, finishes, payload.blocks(),
              earlierVersion ? null : payload.groups(), NOBODY));
    }

    void apply(KvBatch batch) {
      applier.apply(batch, 0);
      feed.batchApplied(applier.position(), batch.events().size());
      tellEverything();
    }

    void tellEverything() {
      ReplicaLink wanting = feed.awaitingSnapshot();
      if (wanting != null) {
        feed.beginSnapshot(wanting);
        HandOver parts = blocks.handOver();
        parts.forEachRemaining(part -> feed.snapshotPart(wanting, part));
        feed.endSnapshot(wanting, applier.salts(), applier.groups(), applier.position());
      }
    }
  }

  /** Chains that branch, stored and removed at random; some under a salt, some whose parent comes late. */
  private static final class Engine {
    private final int number;
    private final SplittableRandom random;
    private final List<Block> held = new ArrayList<>();
    private final Map<Long, long[]> chains = new HashMap<>();
    private final Set<Long> heldKeys = new LinkedHashSet<>();
    private long lastKey;
    private long sequence;

    private record Block(long key, int[] tokens, @Nullable String salt) {}

    /** What its windows and states hold; empty of other models. */
    private final List<Spec> groups = new ArrayList<>();

    private final List<long[]> inGroups = new ArrayList<>();

    Engine(int number, SplittableRandom random) {
      this.number = number;
      this.random = random;
    }

    void withGroups() {
      groups.add(new Spec(Spec.Kind.SLIDING_WINDOW, 2 * BLOCK));
      groups.add(Spec.STATE);
    }

    /** Blocks of the prefix, of some that are not there yet, and copies of both. */
    private void storeInGroup(List<KvEvent> events) {
      int group = random.nextInt(groups.size());
      long[] known = heldKeys.stream().mapToLong(Long::longValue).toArray();
      long[] keys = new long[1 + random.nextInt(random.nextInt(40) == 0 ? 3000 : 6)];
      for (int i = 0; i < keys.length; i++) {
        long next = (long) number << 40 | lastKey + 1 + random.nextInt(5);
        keys[i] = known.length == 0 || random.nextInt(6) == 0 ? next : known[random.nextInt(known.length)];
        inGroups.add(new long[] {group + 1, keys[i]});
      }
      // Of some the tokens of blocks that were left out.
      int tokens = keys.length * BLOCK + (random.nextInt(50) == 0 ? BLOCK : 0);
      events.add(
          new Stored(
              true, 0, keys, new int[tokens], BLOCK, Tier.DEVICE, null, null, group + 1, groups.get(group), List.of(),
              false, lookahead(keys)));
    }

    /** Some engines with groups share blocks only among prompts that go on alike. */
    private KvEvent.Lookahead lookahead(long[] keys) {
      return groups.isEmpty() || number % 2 == 0
          ? KvEvent.Lookahead.ANY
          : new KvEvent.Lookahead(Arrays.stream(keys).mapToInt(key -> (int) (key % TOKENS)).toArray(), 1);
    }

    private void removeFromGroup(List<KvEvent> events) {
      long[] gone = inGroups.remove(random.nextInt(inGroups.size()));
      events.add(new Removed(new long[] {gone[1]}, Tier.DEVICE, (int) gone[0]));
    }

    KvBatch next() {
      List<KvEvent> events = new ArrayList<>();
      for (int i = random.nextInt(4); i >= 0; i--) {
        int what = random.nextInt(100);
        if (!groups.isEmpty() && what % 2 == 1) {
          if (what < 60 || inGroups.isEmpty()) {
            storeInGroup(events);
          } else {
            removeFromGroup(events);
          }
        } else if (what < 60 || held.isEmpty()) {
          store(events, 1 + random.nextInt(random.nextInt(40) == 0 ? 3000 : 8));
        } else if (what < 98) {
          Block gone = held.remove(random.nextInt(held.size()));
          heldKeys.remove(gone.key());
          events.add(new Removed(new long[] {gone.key()}, Tier.DEVICE, KvEvent.UNSPECIFIED));
        } else if (what == 98) {
          events.add(new KvEvent.GapAbandoned(0, 1));
        } else {
          held.clear();
          heldKeys.clear();
          inGroups.clear();
          events.add(new KvEvent.Cleared());
        }
      }
      return new KvBatch(sequence++, 1000 + sequence, KvBatch.UNKNOWN_RANK, events);
    }

    KvBatch burst(int blocks) {
      List<KvEvent> events = new ArrayList<>();
      store(events, blocks);
      return new KvBatch(sequence++, 1000 + sequence, KvBatch.UNKNOWN_RANK, events);
    }

    private void store(List<KvEvent> events, int count) {
      Block parent = held.isEmpty() || random.nextInt(4) == 0 ? null : held.get(random.nextInt(held.size()));
      // The stores of a salted chain name the salt with the first block only.
      String salt = parent == null ? (random.nextInt(3) == 0 ? "salt-" + random.nextInt(3) : null) : parent.salt();
      long[] keys = new long[count];
      int[] tokens = new int[count * BLOCK];
      for (int i = 0; i < count; i++) {
        keys[i] = (long) number << 40 | ++lastKey;
        for (int j = 0; j < BLOCK; j++) {
          tokens[i * BLOCK + j] = random.nextInt(TOKENS);
        }
      }
      Stored stored =
          new Stored(
              parent == null, parent == null ? 0 : parent.key(), keys, tokens, BLOCK, Tier.DEVICE, null,
              parent == null ? salt : null, KvEvent.UNSPECIFIED, Spec.UNSPECIFIED, List.of(), number % 2 == 0,
              lookahead(keys));
      events.add(stored);
      int[] before = parent == null ? new int[0] : parent.tokens();
      for (int i = 0; i < Math.min(count, 50); i++) {
        int[] all = new int[before.length + (i + 1) * BLOCK];
        System.arraycopy(before, 0, all, 0, before.length);
        System.arraycopy(tokens, 0, all, before.length, (i + 1) * BLOCK);
        held.add(new Block(keys[i], all, salt));
        heldKeys.add(keys[i]);
        long[] hashes = new long[all.length / BLOCK];
        BlockHash.in(null, salt).chain(BlockHash.NONE, all, 0, all.length, BLOCK, hashes, 0);
        chains.put(keys[i], hashes);
      }
    }
  }

  private void start(long seed) {
    for (int slot = 0; slot < WORKERS; slot++) {
      homes.add(new Home(slot, seed));
    }
  }

  /** Carries what is on its way; {@code loss} of a hundred frames and answers are lost. */
  private void carry(SplittableRandom random, int loss, int most) {
    for (int i = 0; i < most && !toCopy.isEmpty(); i++) {
      ReplicaFrame frame = toCopy.removeFirst();
      if (random.nextInt(100) < loss) {
        continue;
      }
      CellReplica.ReceivedUpTo come = copy.receive(frame);
      Home home = homes.get(frame.slot());
      if (come != null && random.nextInt(100) >= loss && home.link != null) {
        int _ = home.link.acknowledged(come.stream(), come.next(), come.missing());
        home.tellEverything();
      }
    }
  }

  /** Until everything has come, whatever gets lost. */
  private void settle(SplittableRandom random, int loss) {
    for (int round = 0; round < 10_000; round++) {
      if (homes.stream().allMatch(home -> home.lag.warm() && home.lag.behind() == 0)) {
        return;
      }
      now.addAndGet(Duration.ofSeconds(2).toNanos());
      for (Home home : homes) {
        if (home.link != null) {
          int _ = home.link.resendOverdue();
          home.tellEverything();
        }
      }
      carry(random, loss, Integer.MAX_VALUE);
    }
    throw new AssertionError("the copy never came to have everything");
  }

  private CellReplica.WarmState taken() {
    return Objects.requireNonNull(copy.takeOver(), "nothing to take over");
  }

  private static ReplicatedWorker copied(CellReplica.WarmState taken, Home home) {
    return Objects.requireNonNull(taken.workers().get(home.id()), home.id());
  }

  private void assertSame(CellReplica.WarmState taken) {
    for (Home home : homes) {
      ReplicatedWorker copied = copied(taken, home);
      assertThat(copied.blocks().size()).as("keys of %s", home.id()).isEqualTo(home.blocks.size());
      assertThat(copied.checkpoint().position()).isEqualTo(home.applier.position());
      assertBlocks(taken, home, copied);
    }
    assertThat(taken.index().rows()).isEqualTo(index.rows());
  }

  private void assertBlocks(CellReplica.WarmState taken, Home home, ReplicatedWorker copied) {
    for (Map.Entry<Long, long[]> chain : home.engine.chains.entrySet()) {
      Chain hashes = new Chain(chain.getValue(), BLOCK);
      assertThat(copied.blocks().hashOf(chain.getKey())).isEqualTo(home.blocks.hashOf(chain.getKey()));
      assertThat(taken.index().verify(hashes, home.slot)).isEqualTo(index.verify(hashes, home.slot));
    }
  }

  /** The two go on from the same places, whatever would be held of a prompt's prefix. */
  private static void assertSameGroups(Home home, @Nullable CacheGroups copied) {
    CacheGroups known = home.applier.groups();
    assertThat(copied == null).isEqualTo(known == null);
    if (known == null || copied == null) {
      return;
    }
    assertThat(copied.isSparse()).isEqualTo(known.isSparse());
    for (long[] hashes : home.engine.chains.values()) {
      for (int next = 0; next < TOKENS; next++) {
        short[] alike = new short[hashes.length];
        Arrays.fill(alike, BlockHash.fold(next));
        Chain chain = new Chain(hashes, 1, new Chain.Lookahead(alike, 1));
        for (int depth = 1; depth <= chain.length(); depth++) {
          assertThat(copied.confirmed(chain, depth, depth)).isEqualTo(known.confirmed(chain, depth, depth));
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void randomEvents_lossyWay_copyIsTheIndex_andGoesOnAsIt(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    start(seed);
    int loss = random.nextInt(40);
    for (int step = 0; step < 400; step++) {
      Home home = homes.get(random.nextInt(WORKERS));
      home.apply(home.engine.next());
      if (home.link == null && random.nextInt(50) == 0) {
        home.copyTo(); // a copy that comes late
        home.tellEverything();
      }
      carry(random, loss, random.nextInt(4));
      if (random.nextInt(20) == 0) {
        now.addAndGet(Duration.ofMillis(random.nextInt(1500)).toNanos());
        homes.stream().filter(each -> each.link != null).forEach(each -> each.link.resendOverdue());
      }
    }
    for (Home home : homes) {
      if (home.link == null) {
        home.copyTo();
        home.tellEverything();
      }
    }
    settle(random, loss);

    CellReplica.WarmState taken = taken();
    assertSame(taken);
    for (Home home : homes) {
      ReplicatedWorker copied = copied(taken, home);
      EventApplier next = new EventApplier(copied.blocks(), BLOCK, BlockChangeListener.NONE, copied.checkpoint());
      for (int i = 0; i < 50; i++) {
        KvBatch batch = home.engine.next();
        home.applier.apply(batch, 0);
        next.apply(batch, 0);
      }
      assertThat(next.position()).isEqualTo(home.applier.position());
      assertBlocks(taken, home, copied);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {41, 42, 43, 44, 45, 46})
  void hybridEngines_lossyWay_copyHasTheirGroups_andGoesOnAsTheIndex(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    start(seed);
    homes.forEach(home -> home.engine.withGroups());
    int loss = random.nextInt(40);
    for (int step = 0; step < 300; step++) {
      Home home = homes.get(random.nextInt(WORKERS));
      home.apply(home.engine.next());
      if (home.link == null && step >= 50 * home.slot) {
        home.copyTo();
        home.tellEverything();
      }
      carry(random, loss, random.nextInt(4));
    }
    settle(random, loss);

    CellReplica.WarmState taken = taken();
    assertSame(taken);
    for (Home home : homes) {
      ReplicatedWorker copied = copied(taken, home);
      EventCheckpoint whole = copied.checkpoint();
      assertThat(whole.isWhole()).isTrue();
      assertSameGroups(home, whole.groups());
      EventApplier next = new EventApplier(copied.blocks(), BLOCK, BlockChangeListener.NONE, whole);
      for (int i = 0; i < 50; i++) {
        KvBatch batch = home.engine.next();
        home.applier.apply(batch, 0);
        next.apply(batch, 0);
        if (i % 10 == 0) {
          assertSameGroups(home, next.groups());
        }
      }
      assertSameGroups(home, next.groups());
    }
  }

  /** During an upgrade: the home does not know that groups could be passed on. */
  @Test
  void hybridEngine_ofAHomeOfAnEarlierVersion_isNotWhole() {
    earlierVersion = true;
    start(51);
    Home home = homes.getFirst();
    homes.subList(1, WORKERS).clear();
    home.engine.withGroups();
    home.copyTo();
    for (int i = 0; i < 20 || home.applier.groups() == null; i++) {
      home.apply(home.engine.next());
    }
    settle(new SplittableRandom(51), 0);
    EventCheckpoint checkpoint = copied(taken(), home).checkpoint();
    assertThat(checkpoint.position()).isEqualTo(home.applier.position());
    assertThat(checkpoint.isWhole()).isFalse();
  }

  /** Prompts may be cut otherwise at the next home, which reads the engine's events anew. */
  @Test
  void blocksThatWereCut_areNotWhole() {
    start(61);
    Home home = homes.getFirst();
    homes.subList(1, WORKERS).clear();
    home.applier.cutInto(BLOCK / 2);
    home.copyTo();
    home.apply(home.engine.burst(3));
    settle(new SplittableRandom(61), 0);
    ReplicatedWorker copied = copied(taken(), home);
    assertThat(copied.blocks().size()).isEqualTo(2 * 3);
    assertThat(copied.checkpoint().position()).isEqualTo(home.applier.position());
    assertThat(copied.checkpoint().isWhole()).isFalse();
  }

  /** What was not confirmed when the home died is told again by the engine: the position says from where. */
  @ParameterizedTest
  @ValueSource(longs = {11, 12, 13, 14})
  void takenOverInTheMiddle_engineTellsTheRest(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    start(seed);
    homes.forEach(Home::copyTo);
    homes.forEach(Home::tellEverything);
    settle(random, 0);
    Map<Integer, List<KvBatch>> told = new HashMap<>();
    for (int step = 0; step < 300; step++) {
      Home home = homes.get(random.nextInt(WORKERS));
      KvBatch batch = home.engine.next();
      told.computeIfAbsent(home.slot, _ -> new ArrayList<>()).add(batch);
      home.apply(batch);
      carry(random, 20, random.nextInt(3));
    }

    CellReplica.WarmState taken = taken();
    for (Home home : homes) {
      ReplicatedWorker copied = copied(taken, home);
      EventApplier next = new EventApplier(copied.blocks(), BLOCK, BlockChangeListener.NONE, copied.checkpoint());
      long last = next.position().stream().sequence();
      for (KvBatch batch : told.getOrDefault(home.slot, List.of())) {
        if (batch.sequence() > last) {
          next.apply(batch, 0);
        }
      }
      assertBlocks(taken, home, copied);
    }
  }

  @Test
  void slowCopy_isToldAnew_andNeverKeepsMoreThanItsBound() {
    start(21);
    Home home = homes.getFirst();
    homes.subList(1, WORKERS).clear();
    home.copyTo();
    home.tellEverything();
    SplittableRandom random = new SplittableRandom(21);
    settle(random, 0);
    int blocks = 20_000;
    for (long bytes = 0; bytes <= ReplicaLink.MAX_WAITING_BYTES; bytes += blocks * 16L) {
      home.apply(home.engine.burst(blocks)); // nothing arrives
    }
    assertThat(toCopy).hasSizeLessThanOrEqualTo(ReplicaLink.WINDOW);
    assertThat(home.lag.warm()).isFalse();
    settle(random, 0);
    assertSame(taken());
  }

  @Test
  void workerThatLeft_givesItsSlotToAnother() {
    start(31);
    homes.forEach(Home::copyTo);
    homes.forEach(home -> home.apply(home.engine.next()));
    settle(new SplittableRandom(31), 0);
    Home gone = homes.getFirst();
    ReplicaLink link = Objects.requireNonNull(gone.link);
    copy.removeWorker(gone.id(), link.stream() + 1);
    assertThat(copy.warmWorkers()).isEqualTo(WORKERS);
    copy.removeWorker(gone.id(), link.stream());
    assertThat(copy.warmWorkers()).isEqualTo(WORKERS - 1);
    ReplicaFrame first =
        new ReplicaFrame(7, 64, "new", gone.slot, 100, 99, 0, true, new byte[] {ReplicaWriter.COMPLETE}, null, NOBODY);
    assertThat(copy.receive(first)).isEqualTo(new CellReplica.ReceivedUpTo(99, 1, false));
    assertThat(taken().workers()).containsOnlyKeys("new", "w1", "w2");
  }

  @Test
  void otherHome_orWiderIndex_beginsAnew() {
    byte[] whole = {ReplicaWriter.COMPLETE};
    copy.receive(new ReplicaFrame(7, 64, "a", 0, 100, 1, 0, true, whole, null, NOBODY));
    copy.receive(new ReplicaFrame(8, 64, "b", 1, 100, 2, 0, true, whole, null, NOBODY));
    assertThat(copy.warmWorkers()).isEqualTo(1);
    copy.receive(new ReplicaFrame(8, 128, "c", 100, 100, 3, 0, true, whole, null, NOBODY));
    CellReplica.WarmState taken = taken();
    assertThat(taken.workers()).containsOnlyKeys("c");
    assertThat(taken.index().slots()).isEqualTo(128);
  }

  @Test
  void afterTakeOver_nobodyWrites() {
    byte[] whole = {ReplicaWriter.COMPLETE};
    copy.receive(new ReplicaFrame(7, 64, "a", 0, 100, 1, 0, true, whole, null, NOBODY));
    assertThat(copy.takeOver()).isNotNull();
    assertThat(copy.receive(new ReplicaFrame(7, 64, "a", 0, 100, 1, 1, true, whole, null, NOBODY))).isNull();
    assertThat(copy.takeOver()).isNull();
  }
}
