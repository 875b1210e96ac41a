package io.kvasir.cell.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.events.GoldenEngine.Kind;
import io.kvasir.cell.events.GoldenEngine.Prompt;
import io.kvasir.events.FaultyChannel;
import io.kvasir.events.FaultyChannel.Faults;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.index.BlockHash;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.index.WorkerBlocks;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * A golden engine, a faulty channel, and the real sequencer, applier and index behind it. Whenever the worker is not
 * marked and the engine's last message has been applied, the index is the engine's cache, no more and no less; and
 * after the storm, once the engine could be asked again, it is so without condition.
 */
final class EventSemanticsTest {
  private static final int RUNS = Integer.getInteger("kvasir.test.semantics.runs", 120);
  private static final int STEPS = 150;

  @Test
  void anyFaults_indexIsTheEnginesCache_orTheWorkerIsMarked() {
    int checked = 0;
    int abandoned = 0;
    for (int seed = 0; seed < RUNS; seed++) {
      Run run = new Run(seed, seed % 3 == 0 ? new Faults(0, false, 10_000) : new Faults(0.2, true, 10_000));
      run.storm();
      run.calm();
      if (run.state().suspect()) {
        // The engine was asked in vain while the storm lasted, and is asked again.
        abandoned++;
        run.resynchronise();
      }
      assertThat(run.state().suspect()).as(run.name).isFalse();
      run.checkExact();
      checked += run.checked;
    }
    assertThat(checked).as("moments of certainty within the storms").isGreaterThan(10 * RUNS);
    assertThat(abandoned).isLessThan(RUNS / 3);
  }

  /** An engine that cannot say all again: what is lost is marked, and what is read anew is true, if not whole. */
  @Test
  void shortBuffer_afterResynchronisation_nothingIsHeldThatTheEngineDoesNotHold() {
    int marked = 0;
    for (int seed = 0; seed < RUNS / 2; seed++) {
      Run run = new Run(seed, new Faults(0.3, true, 6));
      run.storm();
      run.calm();
      if (run.state().suspect()) {
        marked++;
      } else {
        run.checkExact();
      }
      run.resynchronise();
      run.checkNoFalseHolder();
      for (int i = 0; i < 30; i++) {
        run.engineStep();
        run.checkNoFalseHolder();
      }
    }
    assertThat(marked).isGreaterThan(RUNS / 10);
  }

  /** An engine that cannot say all again, and can say what it holds: after that nothing is missing. */
  @Test
  void shortBuffer_withSnapshots_indexIsTheEnginesCache_orTheWorkerIsMarked() {
    int checked = 0;
    int marked = 0;
    for (int seed = 0; seed < RUNS; seed++) {
      Run run = new Run(seed, new Faults(seed % 3 == 0 ? 0 : 0.3, seed % 3 != 0, seed % 5), true);
      run.storm();
      run.calm();
      if (run.state().suspect()) {
        // All tries fell into the storm.
        marked++;
        run.resynchronise();
      }
      assertThat(run.state().suspect()).as(run.name).isFalse();
      run.checkExact();
      checked += run.checked;
    }
    assertThat(checked).as("moments of certainty within the storms").isGreaterThan(10 * RUNS);
    assertThat(marked).isBetween(1, RUNS / 4);
  }

  /** The same told twice, one teller behind the other: sets, so the last word on every block is the engine's. */
  @Test
  void twoSources_indexIsTheEnginesCache_onceBothHaveSaidAll() {
    for (int seed = 0; seed < RUNS / 2; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      GoldenEngine engine = new GoldenEngine(random, new Kind(false, seed % 2 == 0, seed % 3 == 0, seed % 5 == 0));
      Target target = new Target("seed " + seed, engine);
      List<ArrayDeque<List<KvEvent>>> tellers = List.of(new ArrayDeque<>(), new ArrayDeque<>());
      for (int step = 0; step < STEPS; step++) {
        List<KvEvent> events = engine.step();
        tellers.forEach(teller -> teller.add(events));
        for (int i = random.nextInt(4); i > 0; i--) {
          tell(tellers.get(random.nextInt(2)), target);
        }
      }
      while (tellers.stream().anyMatch(teller -> !teller.isEmpty())) {
        tell(tellers.get(random.nextInt(2)), target);
      }
      // A block whose predecessor is gone may wait for it to come back: no prompt reaches it until then.
      target.checkNoFalseHolder();
      target.checkDepths();
    }
  }

  private static void tell(ArrayDeque<List<KvEvent>> teller, Target target) {
    List<KvEvent> events = teller.poll();
    if (events != null) {
      target.applier.apply(new KvBatch(KvBatch.UNSEQUENCED, 0, 0, events), 1);
    }
  }

  /** The index of one worker, and the engine it should agree with. */
  private static class Target {
    final String name;
    final GoldenEngine engine;
    final BlockIndex index = new BlockIndex(64, 8 << 20);
    final WorkerBlocks blocks = index.open(7);
    final EventApplier applier = new EventApplier(blocks, GoldenEngine.BLOCK);

    Target(String name, GoldenEngine engine) {
      this.name = name;
      this.engine = engine;
    }

    EventState state() {
      return applier.state();
    }

    void checkExact() {
      assertThat(blocks.size()).as(name).isEqualTo(engine.heldKeys().size());
      for (long key : engine.heldKeys()) {
        assertThat(blocks.hashOf(key)).as(name).isNotEqualTo(BlockHash.NONE);
      }
      checkDepths();
      assertThat(state().parked()).as(name).isZero();
    }

    void checkDepths() {
      for (Prompt prompt : engine.prompts()) {
        assertThat(depth(prompt)).as(name).isEqualTo(engine.depth(prompt));
      }
    }

    void checkNoFalseHolder() {
      for (Prompt prompt : engine.prompts()) {
        assertThat(depth(prompt)).as(name).isLessThanOrEqualTo(engine.depth(prompt));
      }
      long known = engine.heldKeys().stream().filter(key -> blocks.hashOf(key) != BlockHash.NONE).count();
      assertThat((long) blocks.size()).as(name + ": all are the engine's").isEqualTo(known);
    }

    private int depth(Prompt prompt) {
      return index.verify(new Chain(prompt.chain(), GoldenEngine.BLOCK), 7);
    }
  }

  private static final class Run extends Target {
    private final SplittableRandom random;
    private final FaultyChannel channel;
    private int checked;

    Run(int seed, Faults faults) {
      this(seed, faults, false);
    }

    Run(int seed, Faults faults, boolean snapshots) {
      this(seed, new SplittableRandom(seed), faults, snapshots);
    }

    private Run(int seed, SplittableRandom random, Faults faults, boolean snapshots) {
      super(
          "seed " + seed,
          new GoldenEngine(
              random,
              new Kind(random.nextBoolean(), random.nextBoolean(), random.nextInt(3) == 0, random.nextInt(3) == 0)));
      this.random = random;
      this.channel =
          new FaultyChannel(
              random, faults, batch -> applier.apply(batch, 1), snapshots ? engine::snapshot : null);
      engineSteps(random.nextInt(5));
      channel.connect();
    }

    void engineStep() {
      channel.publish(engine.step());
    }

    private void engineSteps(long count) {
      for (long i = 0; i < count; i++) {
        engineStep();
      }
    }

    void storm() {
      for (int step = 0; step < STEPS; step++) {
        switch (random.nextInt(40)) {
          case 0 -> reconnect();
          case 1 -> restart();
          case 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 -> engineStep();
          default -> channel.step();
        }
        if (channel.isConnected() && !state().suspect() && state().lastSequence() == channel.lastPublished()) {
          checkExact();
          checked++;
        }
      }
    }

    private void reconnect() {
      channel.disconnect();
      engineSteps(random.nextInt(6));
      channel.connect();
    }

    /** Now and then the new process has come as far as the old one when it is found. */
    private void restart() {
      long before = channel.lastPublished() + 1;
      channel.disconnect();
      channel.restart();
      engine.restart();
      engineSteps(random.nextBoolean() ? before : random.nextInt(12));
      channel.connect();
    }

    void calm() {
      channel.calm();
      // The last message may have been lost: only one after it shows that.
      engineSteps(3);
    }

    void resynchronise() {
      applier.reset();
      channel.resubscribe();
      List<KvEvent> nothing = new ArrayList<>();
      channel.publish(nothing);
    }
  }
}
