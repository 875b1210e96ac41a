package io.kvasir.sim.lmcache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.kvasir.sim.lmcache.ControllerMessage.Command;
import io.kvasir.sim.lmcache.ControllerMessage.Kind;
import io.kvasir.sim.lmcache.ControllerMessage.Operation;
import io.kvasir.sim.lmcache.KeyRegistry.PrefixMatch;
import io.kvasir.sim.lmcache.KeyRegistry.WorkerSnapshot;
import io.kvasir.sim.lmcache.RegisteredWorker.WorkerAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The controller's rules of attribution. */
final class KeyRegistryTest {
  private static final String CPU = "LocalCPUBackend";
  private static final int[] PROMPT = IntStream.range(0, 8 * 256 + 100).toArray();

  private double now = 1000;
  private final KeyRegistry registry = new KeyRegistry(() -> now, 30, NoneHash.WITHOUT_VLLM);

  @BeforeEach
  void register() {
    registry.register(place("a", 0));
    registry.register(place("b", 0));
  }

  @Test
  void lookup_ofNothing_isEmpty() {
    assertThat(registry.lookup(PROMPT)).isEmpty();
    assertThat(registry.lookup(new int[0])).isEmpty();
  }

  @Test
  void lookup_endsWithTheFirstChunkThatNobodyHolds() {
    admit("a", 0, CPU, 0, 1, 3);

    assertThat(registry.lookup(PROMPT)).isEqualTo(Map.of("a", new PrefixMatch(CPU, 512)));
    assertThat(registry.lookup(Arrays.copyOf(PROMPT, 300))).isEqualTo(Map.of("a", new PrefixMatch(CPU, 256)));
  }

  @Test
  void chunkOfTwo_isAttributedToWhoRegisteredFirst() {
    admit("b", 0, CPU, 0, 1, 2);
    admit("a", 0, CPU, 0, 1, 2);

    assertThat(registry.lookup(PROMPT)).isEqualTo(Map.of("a", new PrefixMatch(CPU, 768)));
  }

  @Test
  void holderOfTheRest_isToldWithItsEnd_whateverItLacks() {
    admit("a", 0, CPU, 0, 1);
    admit("b", 0, CPU, 2, 3);

    Map<String, PrefixMatch> layout = registry.lookup(PROMPT);

    assertThat(layout)
        .containsExactly(Map.entry("a", new PrefixMatch(CPU, 512)), Map.entry("b", new PrefixMatch(CPU, 1024)));
  }

  @Test
  void holderOfTheBeginningAndTheEnd_isToldWithTheEnd() {
    admit("a", 0, CPU, 0, 2);
    admit("b", 0, CPU, 0, 1);

    Map<String, PrefixMatch> layout = registry.lookup(PROMPT);

    assertThat(layout)
        .containsExactly(Map.entry("a", new PrefixMatch(CPU, 768)), Map.entry("b", new PrefixMatch(CPU, 512)));
  }

  @Test
  void lastChunk_mayBeShorter() {
    long[] names = names();
    registry.apply(operations("a", 0, CPU, Kind.ADMIT, names));

    assertThat(registry.lookup(PROMPT)).isEqualTo(Map.of("a", new PrefixMatch(CPU, PROMPT.length)));
  }

  @Test
  void location_isTheOneThatHoldsTheLastChunk() {
    admit("a", 0, CPU, 0);
    admit("a", 0, "LocalDiskBackend", 0, 1);

    assertThat(registry.lookup(PROMPT)).isEqualTo(Map.of("a", new PrefixMatch("LocalDiskBackend", 512)));
    assertThat(registry.lookup(Arrays.copyOf(PROMPT, 256))).isEqualTo(Map.of("a", new PrefixMatch(CPU, 256)));
  }

  @Test
  void ranks_areCountedEach() {
    registry.register(place("a", 1));
    admit("a", 0, CPU, 0, 1);
    admit("a", 1, CPU, 0, 1);

    assertThat(registry.list("a")).extracting(WorkerSnapshot::keys).containsExactly(2, 2);
    assertThat(registry.list(null)).hasSize(3);
    assertThat(registry.lookup(PROMPT)).isEqualTo(Map.of("a", new PrefixMatch(CPU, 512)));
  }

  @Test
  void evictedChunk_isForgotten() {
    admit("a", 0, CPU, 0, 1, 2);
    registry.apply(operations("a", 0, CPU, Kind.EVICT, new long[] {names()[1]}));

    assertThat(registry.lookup(PROMPT)).isEqualTo(Map.of("a", new PrefixMatch(CPU, 256)));
    assertThat(registry.list("a")).extracting(WorkerSnapshot::keys).containsExactly(2);
  }

  @Test
  void unknownWorkersChunks_areNotNoted() {
    admit("z", 0, CPU, 0);
    admit("a", 7, CPU, 0);

    assertThat(registry.lookup(PROMPT)).isEmpty();
  }

  @Test
  void workerThatRegistersAgain_isTakenToBeEmpty() {
    admit("a", 0, CPU, 0);
    now = 2000;

    registry.register(place("a", 0));

    assertThat(registry.lookup(PROMPT)).isEmpty();
    assertThat(registry.list("a")).extracting(WorkerSnapshot::registeredAt).containsExactly(1000.0);
  }

  @Test
  void workerThatFallsSilent_keepsItsChunks_untilItDeregisters() {
    admit("a", 0, CPU, 0);
    now = 1_000_000;

    assertThat(registry.lookup(PROMPT)).containsOnlyKeys("a");
    assertThat(registry.list("a")).extracting(WorkerSnapshot::lastHeartbeat).containsExactly(1000.0);

    registry.deregister("a", 0);

    assertThat(registry.lookup(PROMPT)).isEmpty();
    assertThat(registry.list(null)).extracting(worker -> worker.address().instance()).containsExactly("b");
  }

  @Test
  void listOfAllWorkers_mayBeOld_butNotWhatTheyHold() {
    assertThat(registry.listedWorkers()).hasSize(2);
    now = 1029;
    registry.register(place("c", 0));
    registry.heartbeat(place("a", 0));
    admit("a", 0, CPU, 0, 1);
    registry.deregister("b", 0);

    assertThat(registry.listedWorkers())
        .extracting(worker -> worker.address().instance(), WorkerSnapshot::lastHeartbeat, WorkerSnapshot::keys)
        .containsExactly(tuple("a", 1000.0, 2), tuple("b", 1000.0, 0));

    now = 1030;
    assertThat(registry.listedWorkers())
        .extracting(worker -> worker.address().instance(), WorkerSnapshot::lastHeartbeat, WorkerSnapshot::keys)
        .containsExactly(tuple("a", 1029.0, 2), tuple("c", 1029.0, 0));
  }

  @Test
  void newController_asksEveryWorkerForEverything_untilEnoughHaveTold() {
    now = 1100;
    assertThat(registry.heartbeat(place("a", 0))).extracting(Command::reason).containsExactly("controller_restart");
    assertThat(registry.list("a")).extracting(WorkerSnapshot::lastHeartbeat).containsExactly(1100.0);

    tellAll("a", "sync-1", 0, 1);
    assertThat(registry.heartbeat(place("a", 0))).isEmpty();
    assertThat(registry.heartbeat(place("b", 0))).isNotEmpty();
    assertThat(registry.syncStatus(new ControllerMessage.SyncQuery("a", 0, "sync-1")))
        .isEqualTo(new ControllerMessage.SyncStatus("sync-1", true, 1.0, true, List.of()));

    assertThat(registry.heartbeat(place("b", 0))).isEmpty();
    assertThat(registry.heartbeat(place("c", 0))).extracting(Command::reason).containsExactly("worker_re_registered");
    assertThat(registry.list("c")).hasSize(1);
  }

  @Test
  void sync_replacesWhatWasKnown_andWhatChangesMeanwhileIsNotHeard() {
    admit("a", 0, CPU, 0, 1, 2);
    assertThat(registry.startSync(new ControllerMessage.SyncStart("a", 0, CPU, "s", 3, 2)).accepted()).isTrue();
    assertThat(registry.lookup(PROMPT)).isEmpty();

    registry.applySyncBatch(new ControllerMessage.SyncBatch("a", 0, CPU, "s", 1, List.of(names()[1])));
    admit("a", 0, CPU, 0);

    assertThat(registry.lookup(PROMPT)).isEmpty();
    assertThat(registry.startSync(new ControllerMessage.SyncStart("a", 0, CPU, "other", 3, 2)).accepted()).isFalse();
    assertThat(registry.syncStatus(new ControllerMessage.SyncQuery("a", 0, "s")))
        .isEqualTo(new ControllerMessage.SyncStatus("s", false, 0.5, false, List.of(0)));

    registry.applySyncBatch(new ControllerMessage.SyncBatch("a", 0, CPU, "s", 0, List.of(names()[0])));
    registry.endSync(new ControllerMessage.SyncEnd("a", 0, CPU, "s", 2));
    admit("a", 0, CPU, 2);

    assertThat(registry.lookup(PROMPT)).isEqualTo(Map.of("a", new PrefixMatch(CPU, 768)));
  }

  @Test
  void held_isTheLeadingPartAtOneLocation() {
    admit("a", 0, CPU, 0, 1, 3);
    admit("a", 0, "LocalDiskBackend", 2);

    assertThat(registry.heldTokens("a", CPU, PROMPT)).isEqualTo(512);
    assertThat(registry.heldTokens("a", "LocalDiskBackend", PROMPT)).isZero();
    assertThat(registry.heldTokens("nobody", CPU, PROMPT)).isZero();
  }

  @Test
  void instanceAt_isTheFirstWithThatAddress() {
    assertThat(registry.instanceAt("10.0.0.1")).isEqualTo("a");
    assertThat(registry.instanceAt("10.0.0.2")).isNull();
  }

  private void tellAll(String instance, String id, int... chunks) {
    registry.startSync(new ControllerMessage.SyncStart(instance, 0, CPU, id, chunks.length, 1));
    List<Long> keys = IntStream.of(chunks).mapToObj(chunk -> names()[chunk]).toList();
    registry.applySyncBatch(new ControllerMessage.SyncBatch(instance, 0, CPU, id, 0, keys));
    registry.endSync(new ControllerMessage.SyncEnd(instance, 0, CPU, id, chunks.length));
  }

  private void admit(String instance, int worker, String location, int... chunks) {
    long[] all = names();
    registry.apply(
        operations(instance, worker, location, Kind.ADMIT, IntStream.of(chunks).mapToLong(i -> all[i]).toArray()));
  }

  private static ControllerMessage.Operations operations(
      String instance, int worker, String location, Kind kind, long[] names) {
    return new ControllerMessage.Operations(
        instance, worker, location, LongStream.of(names).mapToObj(name -> new Operation(kind, name, 0)).toList());
  }

  /** The names of the prompt's chunks, the last of them short. */
  private static long[] names() {
    long[] names = new long[9];
    for (int i = 0; i < names.length; i++) {
      names[i] =
          ChunkHashes.next(i == 0 ? 0 : names[i - 1], PROMPT, i * 256, Math.min((i + 1) * 256, PROMPT.length));
    }
    return names;
  }

  private static WorkerAddress place(String instance, int worker) {
    return new WorkerAddress(instance, worker, "10.0.0.1", 8001 + worker, null);
  }
}
