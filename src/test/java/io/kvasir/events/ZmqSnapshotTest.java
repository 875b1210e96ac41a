package io.kvasir.events;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.load.Ports;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Snapshots from a publisher on real sockets, as vLLM's pull request 50134 would send them, and as it would not. */
final class ZmqSnapshotTest extends TransportFixture {
  /** {@code [1723000000.5, [AllBlocksCleared], 0]}, as msgspec writes it. */
  private static final byte[] CLEARED =
      hex("93cb41d9acb9302000009181a474797065b0416c6c426c6f636b73436c656172656400");

  /** The store of blocks of four tokens, 0x1122334455667788 and 0xfedcba9876543210 after it, as msgspec writes it. */
  private static final byte[] STORED =
      hex("93cb41d9acb930200000918ba474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657392cf11223344"
          + "55667788cffedcba9876543210b1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f696473980102cd012c"
          + "ce0001117005060708aa626c6f636b5f73697a6504a76c6f72615f6964c0a66d656469756da3475055a96c6f72615f6e"
          + "616d65c0aa65787472615f6b65797392c0c0a967726f75705f69647800b26b765f63616368655f737065635f6b696e64"
          + "ae66756c6c5f617474656e74696f6e00");

  /** The removal of the first of them. */
  private static final byte[] REMOVED =
      hex("93cb41d9acb9304000009184a474797065ac426c6f636b52656d6f766564ac626c6f636b5f68617368657391cf112233"
          + "4455667788a66d656469756da3475055a967726f75705f6964780000");

  /** More than the second after which a connection that JeroMQ has forgotten is made again. */
  private static final Duration IDLE = Duration.ofMillis(1200);

  private final int port = Ports.inARow(2);
  private final String pub = "tcp://127.0.0.1:" + port;
  private final String replay = "tcp://127.0.0.1:" + (port + 1);
  private final ZmqEvents events =
      transports.shared(ZmqEvents.class,
          counted -> new ZmqEvents(1, IDLE, counted, NanoClock.SYSTEM, SocketFactory::of));

  @Test
  void lateSubscriber_shortBuffer_hasWhatTheEngineHolds_andNothingIsLost() {
    FakePublisher engine = publisher(5, 50);
    engine.snapshot(CLEARED);
    TestStream stream = subscribe();
    stream.expect("up", "gap0", "snapshot50", "*", "ok");
    await(() -> engine.subscribers() >= 1);
    engine.publish(2);
    stream.expect("50", "51");
    assertThat(metric("kvasir_events_lost_messages")).isZero();
    assertThat(metric("kvasir_events_replays")).isZero();
  }

  /** It publishes nothing meanwhile, and is not asked a second time. */
  @Test
  void engineThatTakesLongerThanAReplayMay_isWaitedFor() {
    FakePublisher engine = publisher(5, 50);
    engine.snapshot(CLEARED);
    engine.snapshotTakes(IDLE.multipliedBy(2));
    TestStream stream = subscribe();
    stream.expect("up", "gap0", "snapshot50", "*", "ok");
    assertThat(engine.snapshotRequests()).isEqualTo(1);
  }

  @Test
  void engineThatDoesNotKnowTheRequest_isReplayed() {
    FakePublisher engine = publisher(5, 50);
    TestStream stream = subscribe();
    stream.expect("up", "gap0", "none: the engine does not know the request", "lost0-44");
    assertThat(stream.numbersTo(49)).hasSize(5);
    assertThat(engine.snapshotRequests()).as("not again").isEqualTo(1);
  }

  @Test
  void snapshotWithoutItsEnd_isRefused_andReplayed() {
    FakePublisher engine = publisher(100, 3);
    engine.snapshot(CLEARED, STORED);
    engine.replayOnly(_ -> true, false);
    TestStream stream = subscribe();
    stream.expect("up", "gap0", "none: it came without its end");
    assertThat(stream.numbersTo(2)).hasSize(3);
    assertThat(engine.snapshotRequests()).isEqualTo(SnapshotTries.PER_GAP);
  }

  @Test
  void gapThatTheReplayCannotFill_isMadeUpForByASnapshot() {
    FakePublisher engine = publisher(5, 0);
    engine.snapshot(CLEARED);
    TestStream stream = subscribe();
    stream.expect("up", "gap0");
    assertThat(stream.takeUntil("ok")).last().isEqualTo("*");
    await(() -> engine.subscribers() >= 1);
    engine.publish(40, n -> n < 2 || n > 38);
    stream.expect("0", "1", "gap2", "snapshot40", "*", "ok");
    engine.publish(1);
    stream.expect("40");
    assertThat(metric("kvasir_events_lost_messages")).isZero();
  }

  /** An engine that goes away in the middle takes what it has said of its state with it. */
  @Test
  void engineThatRestartsBeforeItAnswers_isAskedAgain() throws Exception {
    FakePublisher engine = publisher(5, 50);
    engine.snapshot(CLEARED, new byte[] {1});
    TestStream stream = subscribe();
    stream.expect("up", "gap0");
    await(() -> engine.snapshotRequests() > 0);
    closeNow(engine);
    FakePublisher next = publisher(5, 20);
    next.snapshot(CLEARED);
    stream.takeUntil("snapshot20");
    stream.expect("*", "ok");
  }

  @Test
  void moreWorkersThanAreReadAtATime_allHaveTheirs() {
    FakePublisher engine = publisher(5, 50);
    engine.snapshot(CLEARED);
    TestStream[] streams = new TestStream[12];
    for (int i = 0; i < streams.length; i++) {
      streams[i] = subscribe();
    }
    for (TestStream stream : streams) {
      stream.expect("up", "gap0", "snapshot50", "*", "ok");
    }
  }

  @Test
  void cancelled_whileItWaitsForItsTurn_leavesTheOthersTheirs() {
    FakePublisher engine = publisher(5, 50);
    engine.snapshot(CLEARED, STORED);
    engine.replayOnly(_ -> false, false);
    TestStream[] slow = new TestStream[6];
    for (int i = 0; i < slow.length; i++) {
      slow[i] = subscribe();
    }
    await(() -> engine.snapshotRequests() >= 4);
    for (TestStream stream : slow) {
      stream.close();
    }
    engine.snapshot(CLEARED);
    engine.replayOnly(_ -> true, true);
    subscribe().expect("up", "gap0", "snapshot50", "*", "ok");
  }

  @Test
  void assembly_takesWhatTheEngineWouldSend() {
    SnapshotAssembly assembly = new SnapshotAssembly();
    for (byte[] payload : new byte[][] {CLEARED, STORED, REMOVED}) {
      assertThat(add(assembly, 50, payload)).isNull();
    }
    EngineSnapshot snapshot = assembly.complete();
    assertThat(snapshot.resume()).isEqualTo(50);
    assertThat(snapshot.takenAt()).isEqualTo(1_723_000_001_000_000L);
    assertThat(snapshot.parts()).hasSize(3);
    assertThat(snapshot.parts().get(1).events().getFirst())
        .isInstanceOfSatisfying(KvEvent.Stored.class, stored -> {
          assertThat(stored.root()).isTrue();
          assertThat(stored.keys()).containsExactly(0x1122334455667788L, 0xfedcba9876543210L);
          assertThat(stored.tokens()).containsExactly(1, 2, 300, 70000, 5, 6, 7, 8);
        });
    assertThat(snapshot.parts().get(2).events().getFirst())
        .isInstanceOfSatisfying(KvEvent.Removed.class,
            removed -> assertThat(removed.keys()).containsExactly(0x1122334455667788L));
  }

  @Test
  void assembly_refusesWhatIsNotWhole() {
    assertThat(add(new SnapshotAssembly(), 50, STORED)).contains("does not begin with AllBlocksCleared");
    assertThat(add(new SnapshotAssembly(), -1, CLEARED)).contains("number -1");
    assertThat(add(new SnapshotAssembly(), 50, new byte[] {(byte) 0x93, 1})).contains("cannot be read");

    SnapshotAssembly assembly = new SnapshotAssembly();
    assertThat(add(assembly, 50, CLEARED)).isNull();
    assertThat(add(assembly, 50, REMOVED)).contains("removed and was not there");
    assertThat(add(assembly, 51, STORED))
        .isEqualTo("message 1 of it goes on with number 51, and the first one with 50");
    assertThat(add(assembly, 50, CLEARED)).contains("in the middle");

    byte[] orphan = STORED.clone();
    // The keys stay; the parent, nil until now, is 5.
    orphan[String.valueOf(HexFormat.of().formatHex(STORED)).indexOf("68617368c0a9746f") / 2 + 4] = 5;
    assertThat(add(assembly, 50, orphan)).isEqualTo("block 5 is missing before what follows it");
  }

  @Test
  void assembly_isBounded() {
    SnapshotAssembly assembly = new SnapshotAssembly();
    assertThat(add(assembly, 50, CLEARED)).isNull();
    for (int i = 1; i < SnapshotAssembly.MAX_MESSAGES; i++) {
      assertThat(add(assembly, 50, STORED)).isNull();
    }
    assertThat(add(assembly, 50, STORED)).contains("more than 1000 messages");
  }

  private @Nullable String add(SnapshotAssembly assembly, long number, byte[] payload) {
    return assembly.add(number, payload, metrics.of("test"));
  }

  private FakePublisher publisher(int bufferSteps, int unheard) {
    return open(new FakePublisher(pub, replay, "", bufferSteps, true, false, unheard));
  }

  private TestStream subscribe() {
    return subscribe(events.source(new ZmqEndpoints(pub, replay, "", false, SnapshotFormat.VLLM_50134, null)));
  }

  private static byte[] hex(String digits) {
    return HexFormat.of().parseHex(digits);
  }
}
