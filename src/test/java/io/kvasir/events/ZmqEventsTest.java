package io.kvasir.events;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.load.Ports;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.LongStream;
import org.apache.pekko.Done;
import org.apache.pekko.stream.javadsl.Sink;
import org.apache.pekko.stream.javadsl.SinkQueueWithCancel;
import org.junit.jupiter.api.Test;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ.Socket;
import org.zeromq.ZMQException;
import zmq.ZError;

/** Sources against a publisher on real sockets that loses, restarts and replays as vLLM does. */
final class ZmqEventsTest extends TransportFixture {
  /** Which sockets cannot be opened, as when descriptors have run out. */
  private volatile Predicate<SocketType> failing = _ -> false;

  /** Which sockets cannot be opened for a reason that nobody reckons with. */
  private volatile Predicate<SocketType> broken = _ -> false;

  /** Whether every turn of the thread that reads fails. */
  private volatile boolean timeless;

  private final AtomicInteger failed = new AtomicInteger();

  /** Whether reading the next socket that is opened fails as nothing should. */
  private final AtomicBoolean unreadable = new AtomicBoolean();

  /** How long a replay may bring nothing: short, as many tests wait for that. */
  private Duration replayIdle = Duration.ofMillis(300);

  private final int port = Ports.inARow(8);
  private final String pub = "tcp://127.0.0.1:" + port;
  private final String replay = "tcp://127.0.0.1:" + (port + 4);

  private ZmqEvents events() {
    return transports.shared(
        ZmqEvents.class, counted -> new ZmqEvents(1, replayIdle, counted, this::nanos, this::sockets));
  }

  private long nanos() {
    if (timeless) {
      throw new IllegalStateException("there is no time");
    }
    return NanoClock.SYSTEM.nanos();
  }

  private SocketFactory sockets(ZContext context) {
    SocketFactory usual = SocketFactory.of(context);
    return type -> {
      if (broken.test(type)) {
        throw new StackOverflowError("as of a library");
      }
      if (failing.test(type)) {
        failed.incrementAndGet();
        throw new ZMQException("Too many open files", ZError.EMFILE);
      }
      return unreadable.getAndSet(false) ? new UnreadableSocket(context, type) : usual.create(type);
    };
  }

  private static final class UnreadableSocket extends Socket {
    UnreadableSocket(ZContext context, SocketType type) {
      super(context, type);
    }

    @Override
    public byte[] recv(int flags) {
      throw new StackOverflowError("as of a decoder");
    }
  }

  @Test
  void live_fromTheBeginning() {
    FakePublisher engine = publisher(true);
    TestStream stream = subscribe(endpoints());
    awaitSubscribers(engine, 1);
    engine.publish(3);
    stream.expect("up", "gap0");
    // The first messages and the empty replay race; either proves that nothing is missing.
    assertThat(stream.numbersTo(2)).containsExactly(0L, 1L, 2L);
    assertThat(stream.takeUntil("ok")).isNotNull();
  }

  @Test
  void history_isReplayed_bothFramings() {
    for (boolean topicInReplay : new boolean[] {true, false}) {
      try (FakePublisher engine = new FakePublisher(pub, replay, "", 10_000, topicInReplay, false)) {
        engine.publish(50);
        try (TestStream stream = subscribe(endpoints())) {
          stream.expect("up", "gap0");
          assertThat(stream.numbersTo(49)).isEqualTo(numbers(0, 49));
          stream.expect("ok");
          awaitSubscribers(engine, 1);
          engine.publish(2);
          stream.expect("50", "51");
        }
      }
    }
  }

  @Test
  void history_longerThanTheBuffer_saysWhatIsLost() {
    FakePublisher engine = publisher(true, 20);
    engine.publish(50);
    TestStream stream = subscribe(endpoints());
    stream.expect("up", "gap0", "lost0-29");
    assertThat(stream.numbersTo(49)).isEqualTo(numbers(30, 49));
  }

  @Test
  void history_ofManyThousands_throughALossyReplay() {
    // Rounds that bring nothing are to reach the engine on a busy machine, too.
    replayIdle = Duration.ofSeconds(2);
    FakePublisher engine = publisher(true);
    engine.publish(5000);
    // No more than 1000 get through at a time, and the end mark does not.
    int[] served = {0};
    engine.replayOnly(n -> n % 1000 != 999 || served[0]++ > 6, false);
    TestStream stream = subscribe(endpoints());
    stream.expect("up", "gap0");
    assertThat(stream.numbersTo(4999)).isEqualTo(numbers(0, 4999));
    stream.expect("ok");
  }

  @Test
  void gap_isFilledFromReplay() {
    FakePublisher engine = publisher(true);
    TestStream stream = settled(engine);
    engine.publish(10, n -> n < 3 || n > 6);
    stream.expect("0", "1", "2", "gap3", "3", "4", "5", "6", "7");
    assertThat(stream.takeUntil("ok")).isSubsetOf("8", "9");
  }

  /** The worker's index is behind, and known to be, until what is missing has come. */
  @Test
  void gap_whileNoSocketCanBeOpened_staysOpenUntilItIsFilled() {
    FakePublisher engine = publisher(true);
    TestStream stream = settled(engine);
    failing = SocketType.DEALER::equals;
    engine.publish(10, n -> n < 3 || n > 6);
    stream.expect("0", "1", "2", "gap3");
    await(() -> failed.get() > 2);
    assertThat(transports.problems()).singleElement().asString()
        .contains("1 workers is behind").contains(replay + ": Too many open files");
    assertThat(metric("kvasir_events_behind")).isEqualTo(1);
    engine.publish(5);
    await(() -> failed.get() > 3);
    failing = _ -> false;
    assertThat(stream.numbersTo(14)).as("in order, and nothing lost").isEqualTo(numbers(3, 14));
    assertThat(stream.takeUntil("ok")).isEmpty();
    assertThat(transports.problems()).isEmpty();
    assertThat(metric("kvasir_events_behind")).isZero();
    assertThat(metric("kvasir_events_lost_messages")).isZero();
  }

  /** The replay of one worker is not the matter of another, whose replay's end lets it begin. */
  @Test
  void replaysThatCannotBeOpened_holdUpNoOther() {
    replayIdle = Duration.ofSeconds(20);
    FakePublisher engine = publisher(true);
    engine.publish(20);
    failing = SocketType.DEALER::equals;
    List<TestStream> streams = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      streams.add(subscribe(endpoints()));
    }
    streams.forEach(stream -> stream.expect("up", "gap0"));
    await(() -> metric("kvasir_events_behind") == 40);
    failing = _ -> false;
    for (TestStream stream : streams) {
      assertThat(stream.numbersTo(19)).isEqualTo(numbers(0, 19));
    }
    await(() -> metric("kvasir_events_behind") == 0);
  }

  @Test
  void stream_whoseSocketCannotBeOpened_isBehindUntilItCan() {
    FakePublisher engine = publisher(true);
    engine.publish(5);
    failing = SocketType.SUB::equals;
    TestStream stream = subscribe(endpoints());
    stream.expect("gap0");
    await(() -> failed.get() > 2);
    assertThat(transports.problems()).singleElement().asString().contains(pub + ": Too many open files");
    failing = _ -> false;
    stream.expect("up");
    assertThat(stream.numbersTo(4)).isEqualTo(numbers(0, 4));
    assertThat(stream.takeUntil("ok")).isEmpty();
    assertThat(transports.problems()).isEmpty();
    assertThat(metric("kvasir_events_gaps")).as("one, with one end")
        .isEqualTo(1).isEqualTo(metric("kvasir_events_gap_endings"));
  }

  @Test
  void gap_permanent_isAbandoned_andTheStreamGoesOn() {
    FakePublisher engine = publisher(true);
    TestStream stream = settled(engine);
    engine.publish(2);
    engine.lose();
    engine.publish(2);
    stream.expect("0", "1", "gap2", "lost2-2", "3", "4");
    assertThat(metric("kvasir_events_lost_messages")).isEqualTo(1);
  }

  @Test
  void cutMessage_isReplaced() {
    FakePublisher engine = publisher(true);
    TestStream stream = settled(engine);
    engine.publish(1);
    engine.publishCut();
    engine.publish(1);
    stream.expect("0", "gap1", "1");
    // The message after it comes before the replay is known to be over, or after.
    assertThat(List.of(stream.next(), stream.next())).containsExactlyInAnyOrder("2", "ok");
  }

  @Test
  void duplicatesAndJunk_areDropped() {
    FakePublisher engine = publisher(true);
    TestStream stream = settled(engine);
    engine.publish(2);
    engine.repeat(1);
    engine.repeat(0);
    engine.sendRaw(new byte[] {1});
    engine.sendRaw(new byte[0], new byte[3], new byte[3]);
    engine.sendRaw(new byte[0], new byte[8], new byte[3], new byte[3]);
    engine.publish(1);
    stream.expect("0", "1", "2");
    assertThat(metric("kvasir_events_duplicates")).isEqualTo(2);
    assertThat(metric("kvasir_events_misframed")).isEqualTo(3);
  }

  @Test
  void restart_isNoticed_evenWhenTheNumbersHaveCaughtUp() throws Exception {
    FakePublisher old = publisher(true);
    TestStream stream = settled(old);
    old.publish(3);
    stream.expect("0", "1", "2");
    closeNow(old);
    stream.expect("down");
    FakePublisher young = open(new FakePublisher(pub, replay, "", 10_000, true, false, 5));
    stream.expect("up", "gap3", "restart", "gap0");
    assertThat(stream.numbersTo(4)).isEqualTo(numbers(0, 4));
    stream.expect("ok");
    awaitSubscribers(young, 1);
    young.publish(1);
    stream.expect("5");
  }

  @Test
  void restart_withoutReplay_isNoticedWhenNumbersGoBack() throws Exception {
    FakePublisher old = publisher(false);
    TestStream stream = subscribe(new ZmqEndpoints(pub, null, "", false));
    awaitSubscribers(old, 1);
    stream.expect("up", "gap0");
    old.publish(3);
    stream.expect("0", "ok", "1", "2");
    closeNow(old);
    stream.expect("down");
    FakePublisher young = publisher(false);
    stream.expect("up", "gap3");
    awaitSubscribers(young, 1);
    young.publish(2);
    stream.expect("restart", "0", "1");
  }

  /** One thread reads many streams. */
  @Test
  void anError_whileAStreamIsRead_failsThatStream_andNoOther() {
    FakePublisher engine = publisher(true);
    TestStream stream = settled(engine);
    unreadable.set(true);
    TestStream failing = subscribe(endpoints());
    assertThatThrownBy(failing::finished).hasRootCauseInstanceOf(StackOverflowError.class);
    engine.publish(2);
    stream.expect("0", "1");
    TestStream next = subscribe(endpoints());
    next.expect("up", "gap0", "0", "1", "ok");
  }

  /** It would be silent for good: nobody would try again, and its reader would not know. */
  @Test
  void anError_whileASocketIsOpened_failsThatStream_andNoOther() {
    FakePublisher engine = publisher(true);
    TestStream stream = settled(engine);
    for (SocketType type : List.of(SocketType.SUB, SocketType.DEALER)) {
      broken = type::equals;
      TestStream failing = subscribe(endpoints());
      assertThatThrownBy(failing::finished).hasRootCauseInstanceOf(StackOverflowError.class);
    }
    broken = _ -> false;
    engine.publish(2);
    stream.expect("0", "1");
  }

  @Test
  void threadThatCannotGoOn_failsItsStreams_andReadsThoseThatAreOpenedAgain() {
    FakePublisher engine = publisher(true);
    TestStream stream = settled(engine);
    timeless = true;
    engine.publish(2);
    assertThatThrownBy(stream::finished).hasRootCauseMessage("there is no time");
    timeless = false;
    TestStream next = subscribe(endpoints());
    next.expect("up", "gap0", "0", "1", "ok");
  }

  @Test
  void binding_tellsEnginesApartByTopic_longestFirst() {
    String one = "kv@127.0.0.1:80@model";
    String two = "kv@127.0.0.1:8000@model";
    TestStream first = subscribe(new ZmqEndpoints(pub, null, "kv@127.0.0.1:80", true));
    TestStream second = subscribe(new ZmqEndpoints(pub, null, two, true));
    first.expect("gap0");
    second.expect("gap0");
    FakePublisher a = open(new FakePublisher(pub, null, one, 100, true, true));
    FakePublisher b = open(new FakePublisher(pub, null, two, 100, true, true));
    awaitSubscribers(a, 2);
    awaitSubscribers(b, 2);
    a.startAt(1);
    b.publish(3);
    a.publish(2);
    second.expect("up", "0", "ok", "1", "2");
    first.expect("up", "1", "ok", "2");
    second.close();
    awaitSubscribers(b, 1);
    a.publish(1);
    first.expect("3");
  }

  /** One setting for all engines that connect to a port. */
  @Test
  void binding_topicsAreMadeOfEachEnginesAddress() {
    EventFeed.Zmq feed = new EventFeed.Zmq(pub, null, "kv@{address}@", true);
    List<TestStream> streams = new ArrayList<>();
    List<FakePublisher> engines = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      URI url = URI.create("http://10.0.0." + i + ":8000");
      streams.add(subscribe(feed.endpoints(new WorkerAddress("w" + i, "w" + i, url, 0, 1))));
      streams.getLast().expect("gap0");
      engines.add(open(new FakePublisher(pub, null, "kv@10.0.0." + i + ":8000@m", 100, true, true)));
    }
    for (int i = 0; i < 3; i++) {
      awaitSubscribers(engines.get(i), 3);
      engines.get(i).publish(i + 1);
    }
    streams.get(0).expect("up", "0", "ok");
    streams.get(1).expect("up", "0", "ok", "1");
    streams.get(2).expect("up", "0", "ok", "1", "2");
  }

  /** Its socket is there before any engine, and engines come unnoticed: only a message shows that one is there. */
  @Test
  void binding_isConnectedFromTheFirstMessageOn() {
    TestStream stream = subscribe(new ZmqEndpoints(pub, replay, "", true));
    stream.expect("gap0");
    assertThat(metric("kvasir_events_connections")).isZero();
    FakePublisher engine = open(new FakePublisher(pub, replay, "", 100, true, true));
    awaitSubscribers(engine, 1);
    engine.publish(2);
    assertThat(stream.takeUntil("up")).as("history may have come before").isSubsetOf("ok", "0", "1");
    assertThat(metric("kvasir_events_connections")).isEqualTo(1);
    stream.close();
    await(() -> metric("kvasir_events_connections") == 0);
  }

  @Test
  void binding_twoWorkersWithOneTopic_isRefused() {
    ZmqEndpoints endpoints = new ZmqEndpoints(pub, null, "kv@pod", true);
    TestStream first = subscribe(endpoints);
    first.expect("gap0");
    assertThatThrownBy(() -> finished(subscribe(endpoints)))
        .hasRootCauseInstanceOf(IllegalStateException.class)
        .hasMessageContaining("topic 'kv@pod'");
  }

  @Test
  void binding_aTakenPort_failsTheStream() throws IOException {
    try (ServerSocket taken = new ServerSocket(0)) {
      ZmqEndpoints endpoints = new ZmqEndpoints("tcp://*:" + taken.getLocalPort(), null, "", true);
      assertThatThrownBy(() -> finished(subscribe(endpoints))).hasMessageContaining("cannot bind");
    }
  }

  @Test
  void binding_canBeLeftAndTakenAgain() {
    for (int i = 0; i < 3; i++) {
      TestStream stream = subscribe(new ZmqEndpoints(pub, null, "", true));
      stream.expect("gap0");
      stream.close();
    }
  }

  @Test
  void ranks_areFoundByTheirPorts() {
    FakePublisher zero = publisher(true);
    FakePublisher one =
        open(new FakePublisher("tcp://127.0.0.1:" + (port + 1), "tcp://127.0.0.1:" + (port + 5), "", 9, true, false));
    zero.publish(1);
    one.publish(3);
    TestStream first = subscribe(endpoints().ofRank(0));
    TestStream second = subscribe(endpoints().ofRank(1));
    first.expect("up", "gap0", "0", "ok");
    second.expect("up", "gap0", "0", "1", "2", "ok");
    assertThat(endpoints().ofRank(3).replay()).endsWith(":" + (port + 7));
  }

  /** As of an engine whose ports the system chose: rank 1 is not where the first one's ports lead. */
  @Test
  void ranks_areFoundWhereTheyAreNamed() {
    FakePublisher zero = publisher(true);
    String chosen = "tcp://127.0.0.1:" + (port + 3);
    FakePublisher one = open(new FakePublisher(chosen, "tcp://127.0.0.1:" + (port + 2), "", 9, true, false));
    EventFeed.Zmq feed =
        new EventFeed.Zmq(
            pub, replay, "", false, false, false,
            List.of(new EventFeed.RankSockets(chosen, "tcp://127.0.0.1:" + (port + 2))), SnapshotFormat.NONE);
    zero.publish(1);
    one.publish(3);
    URI url = URI.create("http://127.0.0.1:8000");
    TestStream first = subscribe(feed.endpoints(new WorkerAddress("w", "w", url, 0, 2)));
    TestStream second = subscribe(feed.endpoints(new WorkerAddress("w#1", "w", url, 1, 2)));
    first.expect("up", "gap0", "0", "ok");
    second.expect("up", "gap0", "0", "1", "2", "ok");
  }

  @Test
  void overload_slowsTheSource_andLosesNothingSilently() throws Exception {
    FakePublisher engine = publisher(true);
    engine.padTo(2000);
    SinkQueueWithCancel<KvBatch> slow =
        events().source(endpoints()).batches().runWith(Sink.<KvBatch>queue(1), system());
    awaitSubscribers(engine, 1);
    int count = 20_000;
    for (int i = 0; i < count / 500; i++) {
      engine.publish(500);
    }
    // Nothing has been taken: what is read ahead is bounded, the rest waits in ZMQ or was dropped by the engine.
    await(() -> metric("kvasir_events_queued_messages") >= 1000);
    assertThat(metric("kvasir_events_queued_messages")).isLessThan(6000);
    long next = 0;
    long lost = 0;
    while (next < count) {
      KvBatch batch = pulled(slow, engine);
      if (batch.sequence() >= 0) {
        assertThat(batch.sequence()).isEqualTo(next);
        next++;
      } else if (batch.events().getFirst() instanceof KvEvent.GapAbandoned(long from, long to)) {
        assertThat(from).isEqualTo(next);
        lost += to - from + 1;
        next = to + 1;
      }
    }
    assertThat(lost).isLessThanOrEqualTo(count - 10_000);
    slow.cancel();
    await(() -> engine.subscribers() == 0);
    await(() -> metric("kvasir_events_queued_messages") == 0);
  }

  /** What was dropped at the end shows when the next message comes, so when nothing comes one is sent. */
  private static KvBatch pulled(SinkQueueWithCancel<KvBatch> queue, FakePublisher engine) throws Exception {
    var pulled = queue.pull().toCompletableFuture();
    while (true) {
      try {
        return pulled.get(300, TimeUnit.MILLISECONDS).orElseThrow();
      } catch (TimeoutException e) {
        engine.publish(1);
      }
    }
  }

  /** In a group of their own, since other tests have threads, too. */
  @Test
  void manyWorkers_fewThreads() throws Exception {
    FutureTask<?> streams = new FutureTask<>(this::openManyWorkers, null);
    new Thread(new ThreadGroup("streams"), streams).start();
    streams.get();
  }

  private void openManyWorkers() {
    List<FakePublisher> engines = new ArrayList<>();
    List<TestStream> streams = new ArrayList<>();
    int threads = Thread.activeCount();
    for (int i = 0; i < 24; i++) {
      int free = Ports.inARow(8);
      ZmqEndpoints endpoints = new ZmqEndpoints("tcp://127.0.0.1:" + free, null, "", false);
      engines.add(open(new FakePublisher(endpoints.endpoint(), null, "", 10, true, false)));
      streams.add(subscribe(endpoints));
    }
    engines.forEach(engine -> awaitSubscribers(engine, 1));
    // Publishers have three threads each; the streams must not have any of their own.
    assertThat(Thread.activeCount() - threads).isLessThan(24 * 3 + 16);
    engines.forEach(engine -> engine.publish(2));
    streams.forEach(stream -> stream.expect("up", "gap0", "0", "ok", "1"));
    assertThat(metric("kvasir_events_connections")).isEqualTo(24);
  }

  @Test
  void cancelling_givesTheSocketsBack() {
    FakePublisher engine = publisher(true);
    TestStream stream = settled(engine);
    stream.close();
    await(() -> engine.subscribers() == 0);
    await(() -> metric("kvasir_events_connections") == 0);
    TestStream again = settled(engine);
    engine.publish(1);
    again.expect("0");
  }

  @Test
  void closing_completesEveryStream() throws Exception {
    publisher(true);
    TestStream stream = subscribe(endpoints());
    stream.expect("up", "gap0");
    transports.close();
    assertThat(finished(stream)).isEqualTo(Done.getInstance());
    assertThat(finished(subscribe(endpoints()))).isEqualTo(Done.getInstance());
  }

  private ZmqEndpoints endpoints() {
    return new ZmqEndpoints(pub, replay, "", false);
  }

  private FakePublisher publisher(boolean withReplay) {
    return open(new FakePublisher(pub, withReplay ? replay : null, "", 10_000, true, false));
  }

  private FakePublisher publisher(boolean withReplay, int bufferSteps) {
    return open(new FakePublisher(pub, withReplay ? replay : null, "", bufferSteps, true, false));
  }

  /** A stream that is connected and has found that there is nothing yet. */
  private TestStream settled(FakePublisher engine) {
    TestStream stream = subscribe(endpoints());
    awaitSubscribers(engine, 1);
    stream.expect("up", "gap0", "ok");
    return stream;
  }

  private TestStream subscribe(ZmqEndpoints endpoints) {
    return subscribe(events().source(endpoints));
  }

  private static Done finished(TestStream stream) throws Exception {
    return stream.finished();
  }

  private static List<Long> numbers(long from, long to) {
    return LongStream.rangeClosed(from, to).boxed().toList();
  }

  /** Waits for subscriptions; one that was made again on a new connection may be told of twice. */
  private static void awaitSubscribers(FakePublisher engine, int count) {
    await(() -> engine.subscribers() >= count);
  }
}
