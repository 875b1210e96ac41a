package io.kvasir.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class ChannelLoopTest {
  private final List<AutoCloseable> open = new ArrayList<>();
  private final ChannelLoop loop = new ChannelLoop("test-loop", 1);

  @AfterEach
  void closeAll() throws Exception {
    loop.close();
    for (AutoCloseable each : open) {
      each.close();
    }
  }

  @Test
  void manyChannels_areReadByOneThread() throws Exception {
    Set<Thread> threads = ConcurrentHashMap.newKeySet();
    List<Pair> pairs = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      Pair pair = pair(text -> {
        threads.add(Thread.currentThread());
        return ChannelReader.Next.MORE;
      });
      pair.watch.resume();
      pairs.add(pair);
    }
    for (int i = 0; i < 50; i++) {
      pairs.get(i).send("n" + i);
    }
    for (int i = 0; i < 50; i++) {
      assertThat(pairs.get(i).reader.texts.take()).isEqualTo("n" + i);
    }
    assertThat(threads).hasSize(1);
  }

  @Test
  void pausedReader_readsNothingUntilItIsResumed() throws Exception {
    Pair paused = pair(text -> ChannelReader.Next.PAUSE);
    Pair other = pair(text -> ChannelReader.Next.MORE);
    paused.watch.resume();
    other.watch.resume();
    paused.send("first");
    assertThat(paused.reader.texts.take()).isEqualTo("first");
    paused.send("second");
    // The one thread has seen both channels' bytes when it has read those that came last.
    other.send("x");
    assertThat(other.reader.texts.take()).isEqualTo("x");
    other.send("y");
    assertThat(other.reader.texts.take()).isEqualTo("y");
    assertThat(paused.reader.texts).isEmpty();
    paused.watch.resume();
    assertThat(paused.reader.texts.take()).isEqualTo("second");
  }

  @Test
  void endedReader_givesTheChannelBack() throws Exception {
    for (int round = 0; round < 100; round++) {
      Pair pair = pair(text -> ChannelReader.Next.END);
      for (int again = 0; again < 3; again++) {
        TextReader reader = new TextReader(pair.near, text -> ChannelReader.Next.END);
        pair.near.configureBlocking(false);
        loop.watch(pair.near, reader).resume();
        pair.send("bye");
        assertThat(reader.ended.get()).isNull();
        // Only a channel that no selector has can be made blocking.
        pair.near.configureBlocking(true);
      }
      pair.near.close();
      pair.far.close();
    }
  }

  @Test
  void closedChannel_endsItsReader() throws Exception {
    Pair pair = pair(text -> ChannelReader.Next.MORE);
    pair.watch.resume();
    pair.send("x");
    pair.reader.texts.take();
    pair.near.close();
    pair.watch.closed();
    assertThat(pair.reader.ended.get()).isInstanceOf(IOException.class);
    assertThat(pair.far.read(ByteBuffer.allocate(1))).isEqualTo(-1);
  }

  /** The selection in which the loop lets go of a channel must not use up the wake-up for one that was resumed. */
  @Test
  void readerThatIsResumed_whileOthersEnd_isRead() throws Exception {
    Pair second = pair(text -> ChannelReader.Next.END);
    second.watch.resume();
    Pair first = pair(text -> {
      second.send("ends while the first is let go of");
      return ChannelReader.Next.END;
    });
    first.watch.resume();
    Pair resumed = pair(text -> ChannelReader.Next.MORE);
    resumed.send("x");
    var _ = first.reader.ended.thenRun(resumed.watch::resume);
    first.send("bye");
    assertThat(resumed.reader.texts.take()).isEqualTo("x");
  }

  @Test
  void failingReader_endsAlone() throws Exception {
    Pair failing = pair(text -> {
      throw new IllegalStateException("a bug");
    });
    Pair other = pair(text -> ChannelReader.Next.MORE);
    failing.watch.resume();
    other.watch.resume();
    failing.send("x");
    assertThat(failing.reader.ended.get()).hasCauseInstanceOf(IllegalStateException.class);
    other.send("y");
    assertThat(other.reader.texts.take()).isEqualTo("y");
  }

  @Test
  void writerWaitsForRoom() throws Exception {
    Pair pair = pair(text -> ChannelReader.Next.MORE);
    pair.watch.resume();
    ByteBuffer bytes = ByteBuffer.allocate(64 << 10);
    long written = 0;
    for (int taken = 1; taken > 0; bytes.clear()) {
      taken = pair.near.write(bytes);
      written += taken;
    }
    CountDownLatch waits = new CountDownLatch(1);
    CompletableFuture<Integer> more = new CompletableFuture<>();
    Thread.startVirtualThread(() -> {
      try {
        waits.countDown();
        int taken = 0;
        while (taken == 0) {
          pair.watch.awaitWritable();
          taken = pair.near.write(ByteBuffer.allocate(1));
        }
        more.complete(taken);
      } catch (IOException e) {
        more.completeExceptionally(e);
      }
    });
    waits.await();
    pair.far.socket().getInputStream().readNBytes((int) written);
    assertThat(more.get()).isOne();
  }

  @Test
  void writerThatWaits_endsWithItsChannel() throws Exception {
    Pair pair = pair(text -> ChannelReader.Next.MORE);
    pair.watch.resume();
    for (ByteBuffer bytes = ByteBuffer.allocate(64 << 10); pair.near.write(bytes) > 0;) {
      bytes.clear();
    }
    CompletableFuture<@Nullable Void> waiting =
        CompletableFuture.runAsync(() -> {
          try {
            pair.watch.awaitWritable();
          } catch (IOException e) {
            throw new IllegalStateException(e);
          }
        }, Thread::startVirtualThread);
    pair.near.close();
    pair.watch.closed();
    assertThatThrownBy(waiting::get).hasRootCauseInstanceOf(IOException.class);
  }

  @Test
  void closedLoop_endsAllReaders_andThoseThatComeLater() throws Exception {
    Pair early = pair(text -> ChannelReader.Next.MORE);
    early.watch.resume();
    early.send("x");
    early.reader.texts.take();
    loop.close();
    assertThat(early.reader.ended.get()).isInstanceOf(IOException.class);
    Pair late = pair(text -> ChannelReader.Next.MORE);
    late.watch.resume();
    assertThat(late.reader.ended.get()).isInstanceOf(IOException.class);
  }

  @Test
  void task_runsOnTheThreadThatReads() throws Exception {
    CompletableFuture<Thread> reads = new CompletableFuture<>();
    Pair pair = pair(text -> {
      reads.complete(Thread.currentThread());
      return ChannelReader.Next.MORE;
    });
    Executor thread = threadOf(pair);
    CompletableFuture<Thread> runs = new CompletableFuture<>();
    thread.execute(() -> runs.complete(Thread.currentThread()));
    assertThat(runs.get()).isSameAs(reads.get());
    assertThat(ConnectionThread.currentConnection()).isNull();
  }

  @Test
  void tasksThatGoOnAndOn_leaveChannelsTheirTurn() throws Exception {
    Pair pair = pair(text -> ChannelReader.Next.MORE);
    Executor thread = threadOf(pair);
    AtomicBoolean enough = new AtomicBoolean();
    thread.execute(new Runnable() {
      @Override
      public void run() {
        if (!enough.get()) {
          thread.execute(this);
        }
      }
    });
    assertThat(pair.reader.texts.take()).isEqualTo("x");
    pair.send("y");
    assertThat(pair.reader.texts.take()).isEqualTo("y");
    enough.set(true);
  }

  /** The thread stands still meanwhile. */
  @Test
  void whatAThreadDoesNotKeepUpWith_othersRun() throws Exception {
    CompletableFuture<Void> goesOn = new CompletableFuture<>();
    Pair pair = pair(text -> ChannelReader.Next.MORE);
    Executor thread = threadOf(pair);
    thread.execute(goesOn::join);
    CountDownLatch elsewhere = new CountDownLatch(1);
    CountDownLatch all = new CountDownLatch(1_000);
    for (int i = 0; i < 1_000; i++) {
      new ConnectionThread(thread)
          .start(
              "test",
              () -> {
                if (!goesOn.isDone()) {
                  elsewhere.countDown();
                }
                all.countDown();
              },
              true);
    }
    elsewhere.await();
    assertThat(all.getCount()).isPositive();
    goesOn.complete(null);
    all.await();
  }

  @Test
  void failingTask_endsAlone() throws Exception {
    Pair pair = pair(text -> ChannelReader.Next.MORE);
    Executor thread = threadOf(pair);
    thread.execute(() -> {
      throw new IllegalStateException("a bug");
    });
    CompletableFuture<Boolean> next = new CompletableFuture<>();
    thread.execute(() -> next.complete(true));
    assertThat(next.get()).isTrue();
  }

  @Test
  void taskForALoopThatHasEnded_isRefused() throws Exception {
    Pair pair = pair(text -> ChannelReader.Next.MORE);
    Executor thread = threadOf(pair);
    loop.close();
    pair.reader.ended.get();
    assertThatThrownBy(() -> thread.execute(() -> {})).isInstanceOf(RejectedExecutionException.class);
  }

  /** Whoever wakes the thread may find it about to wait, waiting or awake: none of its tasks may be left. */
  @Test
  void tasksOfManyThreads_allRun() throws Exception {
    Pair pair = pair(text -> ChannelReader.Next.MORE);
    Executor thread = threadOf(pair);
    List<Thread> senders = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      senders.add(Thread.startVirtualThread(() -> {
        for (int round = 0; round < 5_000; round++) {
          CountDownLatch ran = new CountDownLatch(1);
          thread.execute(ran::countDown);
          try {
            ran.await();
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
        }
      }));
    }
    for (Thread each : senders) {
      assertThat(each.join(Duration.ofSeconds(60))).isTrue();
    }
  }

  /** The thread that reads a pair, which is sent {@code x} for that. */
  private static Executor threadOf(Pair pair) throws Exception {
    pair.watch.resume();
    pair.send("x");
    return pair.reader.thread.get();
  }

  private Pair pair(Function<String, ChannelReader.Next> next) throws IOException {
    try (ServerSocketChannel listener = ServerSocketChannel.open()) {
      listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      SocketChannel near = SocketChannel.open(listener.getLocalAddress());
      SocketChannel far = listener.accept();
      open.add(near);
      open.add(far);
      near.configureBlocking(false);
      TextReader reader = new TextReader(near, next);
      return new Pair(near, far, reader, loop.watch(near, reader));
    }
  }

  private record Pair(SocketChannel near, SocketChannel far, TextReader reader, WatchedChannel watch) {
    void send(String text) {
      try {
        far.write(ByteBuffer.wrap(text.getBytes(US_ASCII)));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static final class TextReader implements ChannelReader {
    private final SocketChannel channel;
    private final Function<String, ChannelReader.Next> next;
    private final LinkedBlockingQueue<String> texts = new LinkedBlockingQueue<>();
    private final CompletableFuture<Executor> thread = new CompletableFuture<>();
    private final CompletableFuture<@Nullable IOException> ended = new CompletableFuture<>();

    TextReader(SocketChannel channel, Function<String, ChannelReader.Next> next) {
      this.channel = channel;
      this.next = next;
    }

    @Override
    public ChannelReader.Next read(ChannelReader.Buffers buffers) throws IOException {
      thread.complete(ConnectionThread.currentConnection());
      ByteBuffer scratch = buffers.direct();
      int length = channel.read(scratch.clear());
      if (length <= 0) {
        return length < 0 ? ChannelReader.Next.END : ChannelReader.Next.MORE;
      }
      String text = US_ASCII.decode(scratch.flip()).toString();
      texts.add(text);
      return next.apply(text);
    }

    @Override
    public void ended(@Nullable IOException failure) {
      if (!ended.complete(failure)) {
        throw new IllegalStateException("ended twice");
      }
    }
  }
}
