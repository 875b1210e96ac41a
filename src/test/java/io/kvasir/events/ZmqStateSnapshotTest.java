package io.kvasir.events;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.load.Ports;
import io.kvasir.time.NanoClock;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** Snapshots at a socket of their own, as vLLM's pull request 57789 serves them, and as it would not. */
final class ZmqStateSnapshotTest extends TransportFixture {
  private static final Duration IDLE = Duration.ofMillis(1200);
  private static final byte[] ONE = name(1);
  private static final byte[] TWO = name(2);

  private final int port = Ports.inARow(3);
  private final String pub = "tcp://127.0.0.1:" + port;
  private final String replay = "tcp://127.0.0.1:" + (port + 1);
  private final String state = "tcp://127.0.0.1:" + (port + 2);
  private final ZmqEvents events =
      transports.shared(ZmqEvents.class,
          counted -> new ZmqEvents(1, IDLE, counted, NanoClock.SYSTEM, SocketFactory::of));

  @Test
  void lateSubscriber_shortBuffer_hasWhatTheEngineHolds_andNothingIsLost() {
    FakePublisher engine = publisher(5, 50);
    engine.name(ONE);
    Recorder recorder = recorder(number(49), ONE, StateSnapshots.PART);
    TestStream stream = subscribe();
    stream.expect("up", "gap0", "snapshot50", "state", "ok");
    await(() -> engine.subscribers() >= 1);
    engine.publish(2);
    stream.expect("50", "51");
    assertThat(recorder.requests()).isEqualTo(1);
    assertThat(metric("kvasir_events_lost_messages")).isZero();
    assertThat(metric("kvasir_events_replays")).isZero();
  }

  @Test
  void engineThatHasPublishedNothing_hasAnEmptyState() {
    FakePublisher engine = publisher(5, 0);
    engine.name(ONE);
    Recorder _ = recorder(number(-1), ONE);
    TestStream stream = subscribe();
    stream.expect("up", "gap0", "snapshot0", "ok");
    await(() -> engine.subscribers() >= 1);
    engine.publish(1);
    stream.expect("0");
  }

  @Test
  void engineThatHasNoneNow_orAnswersSomethingElse_isReplayed() {
    FakePublisher engine = publisher(100, 3);
    engine.name(ONE);
    Recorder recorder = recorder(number(-2), ONE);
    TestStream stream = subscribe();
    stream.expect("up", "gap0", "none: the engine has none now");
    assertThat(stream.numbersTo(2)).hasSize(3);
    assertThat(recorder.requests()).isEqualTo(SnapshotTries.PER_GAP);

    for (byte[][] reply : new byte[][][] {
        {number(-3), ONE}, {number(2), new byte[] {1, 2}}, {number(2)}, {new byte[] {1}, ONE}, {},
        {number(2), ONE, {(byte) 0x93, 1}}, {number(2), ONE, Arrays.copyOf(StateSnapshots.PART, 300)}}) {
      recorder.answer(reply);
      TestStream next = subscribe();
      next.expect("up", "gap0");
      assertThat(next.takeUntil("0")).anyMatch(event -> event.startsWith("none: "));
      next.close();
    }
  }

  @Test
  void silentEngine_isReplayed() {
    FakePublisher engine = publisher(100, 3);
    engine.name(ONE);
    TestStream stream = subscribe();
    stream.expect("up", "gap0", "none: the engine could not be reached");
    assertThat(stream.numbersTo(2)).hasSize(3);
  }

  /** The live messages are left over from a process that has ended; its numbers were higher than the new one's. */
  @Test
  void stateOfAnotherProcess_isNotMixedWithWhatWasSeen() {
    FakePublisher engine = publisher(100, 0);
    engine.name(ONE);
    Recorder recorder = recorder(number(-2), ONE);
    TestStream stream = subscribe();
    assertThat(stream.takeUntil("ok")).isNotEmpty();
    await(() -> engine.subscribers() >= 1);
    engine.publish(5);
    stream.expect("0", "1", "2", "3", "4");

    recorder.answer(number(8), TWO, StateSnapshots.PART);
    engine.name(TWO);
    engine.startAt(8);
    engine.publish(1);
    stream.expect("restart", "gap0", "snapshot9", "state", "ok");
    engine.publish(1);
    stream.expect("9");
  }

  @Test
  void assembly_refusesCopiesOfWhatIsNotThere() {
    SnapshotAssembly assembly = SnapshotAssembly.ofState(50, ONE);
    assertThat(assembly.add(50, StateSnapshots.PART, metrics.of("test"))).isNull();
    assertThat(assembly.complete().publisher()).isEqualTo(PublisherId.of(ONE)).isNotEqualTo(PublisherId.of(TWO));
    // The parents of the first stores are as they were; the copies are of block 15.
    byte[] other = StateSnapshots.PART.clone();
    int at = lastIndexOf(other, new byte[] {(byte) 0x91, 0x0b, (byte) 0xb1});
    other[at + 1] = 15;
    assertThat(SnapshotAssembly.ofState(50, ONE).add(50, other, metrics.of("test")))
        .isEqualTo("a block is copied that was not there");
  }

  private static int lastIndexOf(byte[] bytes, byte[] sought) {
    for (int i = bytes.length - sought.length; i >= 0; i--) {
      if (Arrays.equals(bytes, i, i + sought.length, sought, 0, sought.length)) {
        return i;
      }
    }
    throw new AssertionError("not found");
  }

  private FakePublisher publisher(int bufferSteps, int unheard) {
    return open(new FakePublisher(pub, replay, "", bufferSteps, true, false, unheard));
  }

  private Recorder recorder(byte[]... reply) {
    Recorder recorder = open(new Recorder(state));
    recorder.answer(reply);
    return recorder;
  }

  private TestStream subscribe() {
    return subscribe(events.source(new ZmqEndpoints(pub, replay, "", false, SnapshotFormat.VLLM_57789, state)));
  }

  private static byte[] name(int seed) {
    byte[] name = new byte[16];
    name[seed] = (byte) seed;
    name[15] = 7;
    return name;
  }

  private static byte[] number(long value) {
    return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
  }

  /** Answers requests for the state as the recorder's ROUTER does: it ignores what is none. */
  private static final class Recorder implements AutoCloseable {
    private static final byte[] REQUEST = "snapshot".getBytes(StandardCharsets.US_ASCII);

    private final ZContext context = new ZContext(1);
    private final AtomicInteger requests = new AtomicInteger();
    private volatile List<byte[]> reply = List.of();
    private volatile boolean closing;
    private final Thread thread;

    Recorder(String endpoint) {
      ZMQ.Socket router = context.createSocket(SocketType.ROUTER);
      router.setLinger(0);
      router.setReceiveTimeOut(10);
      router.bind(endpoint);
      thread = Thread.ofPlatform().daemon().start(() -> run(router));
    }

    void answer(byte[]... frames) {
      reply = List.of(frames);
    }

    int requests() {
      return requests.get();
    }

    private void run(ZMQ.Socket router) {
      while (!closing) {
        List<byte[]> request = received(router);
        if (request.size() == 3 && request.get(1).length == 0 && Arrays.equals(request.get(2), REQUEST)) {
          requests.incrementAndGet();
          List<byte[]> frames = new ArrayList<>(request.subList(0, 2));
          frames.addAll(reply);
          for (int i = 0; i < frames.size(); i++) {
            router.send(frames.get(i), i < frames.size() - 1 ? ZMQ.SNDMORE : 0);
          }
        }
      }
    }

    private static List<byte[]> received(ZMQ.Socket router) {
      List<byte[]> frames = new ArrayList<>();
      byte @Nullable [] frame = router.recv();
      while (frame != null) {
        frames.add(frame);
        frame = router.hasReceiveMore() ? router.recv() : null;
      }
      return frames;
    }

    @Override
    public void close() {
      closing = true;
      try {
        thread.join();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      context.close();
    }
  }
}
