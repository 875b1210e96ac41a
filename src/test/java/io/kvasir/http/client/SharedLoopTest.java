package io.kvasir.http.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.ChannelLoop;
import io.kvasir.http.ConnectionThread;
import io.kvasir.http.Headers;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls of threads that the loop carries which watches the connections, and of others. */
final class SharedLoopTest {
  private static final String CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

  private final List<AutoCloseable> open = new ArrayList<>();
  private final ChannelLoop loop = new ChannelLoop("shared", 2);
  private final PodClient client = client();

  private PodClient client() {
    PodClient shared =
        new PodClient(PodClient.Settings.defaults(), loop, new Metrics(new PrometheusRegistry()), NanoClock.SYSTEM);
    open.add(loop);
    open.add(shared);
    return shared;
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable each : open.reversed()) {
      each.close();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {10, 60_000, 70_000})
  void answer_reachesTheCallerOnItsOwnThread_whereItIsShort(int length) throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(sized("x".repeat(length))));
    Executor thread = LoopThreads.of(loop);
    // A call connects elsewhere, and goes on there if its answer is there by then.
    boolean own = false;
    for (int i = 0; i < 20; i++) {
      String carrier = onConnection(thread, () -> {
        try (PodResponse response = get(pod)) {
          assertThat(response.readAll(1 << 20)).hasSize(length);
        }
        return carrier();
      });
      own |= carrier.startsWith("shared-");
    }
    assertThat(own).isEqualTo(length <= 64 << 10);
    assertThat(pod.connections()).isEqualTo(1);
  }

  @Test
  void streamsEnd_reachesTheCallerOnItsOwnThread() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(CHUNKED + "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"));
    Executor thread = LoopThreads.of(loop);
    boolean own = false;
    for (int i = 0; i < 20; i++) {
      ByteArrayOutputStream come = new ByteArrayOutputStream();
      String carrier = onConnection(thread, () -> {
        try (PodResponse response = get(pod)) {
          response.stream((bytes, length) -> {
            come.write(bytes, 0, length);
            return true;
          });
        }
        return carrier();
      });
      assertThat(come.toString(UTF_8)).isEqualTo("abcdef");
      own |= carrier.startsWith("shared-");
    }
    assertThat(own).isTrue();
  }

  @Test
  void connectionThatThePodCloses_isNotUsedAgain() throws Exception {
    CountDownLatch closed = new CountDownLatch(1);
    RawPod pod = pod((request, wire) -> {
      wire.write(sized("x"));
      if (request.connection() == 1) {
        wire.close();
        closed.countDown();
      }
    });
    assertThat(get(pod).readAll(10)).hasSize(1);
    closed.await();
    assertThat(post(pod, "y").readAll(10)).hasSize(1);
    assertThat(pod.connections()).isEqualTo(2);
  }

  @Test
  void loopThatEnds_endsCallsThatWait() throws Exception {
    CountDownLatch come = new CountDownLatch(1);
    RawPod pod = pod((request, wire) -> come.countDown());
    CompletableFuture<PodException.Kind> failure = CompletableFuture.supplyAsync(() -> {
      try {
        get(pod);
        throw new IllegalStateException("answered");
      } catch (PodException e) {
        return e.kind();
      }
    }, Thread::startVirtualThread);
    come.await();
    loop.close();
    assertThat(failure.get()).isEqualTo(PodException.Kind.RESET);
  }

  /** Whatever comes when: whole, in pieces, before it is waited for; on any thread; by reading or by streaming. */
  @Test
  void manyCallsOfManyThreads_getTheirAnswersWhole() throws Exception {
    AtomicInteger seeds = new AtomicInteger();
    List<RawPod> pods = Stream.of(0, 1).map(_ -> echo(seeds)).toList();
    Executor[] threads = {LoopThreads.of(loop), LoopThreads.of(loop)};
    List<CompletableFuture<Void>> callers = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      SplittableRandom random = new SplittableRandom(i);
      CompletableFuture<Void> done = new CompletableFuture<>();
      callers.add(done);
      Runnable calls = () -> {
        try {
          for (int call = 0; call < 100; call++) {
            String body = String.valueOf((char) ('a' + random.nextInt(26))).repeat(random.nextInt(1, 60_000));
            try (PodResponse response = post(pods.get(random.nextInt(2)), body)) {
              assertThat(answer(response, random.nextBoolean())).isEqualTo(body);
            }
          }
          done.complete(null);
        } catch (IOException | RuntimeException | Error e) {
          done.completeExceptionally(e);
        }
      };
      switch (i % 3) {
        case 0 -> Thread.startVirtualThread(calls);
        case 1 -> new ConnectionThread(threads[0]).start("caller", calls, true);
        default -> new ConnectionThread(threads[1]).start("caller", calls, i % 2 == 0);
      }
    }
    for (CompletableFuture<Void> each : callers) {
      each.get();
    }
  }

  /** Answers with what it was sent, in pieces of any length, of which some come late. */
  @SuppressWarnings("ThreadPriorityCheck") // So that pieces come apart now and then, not for who comes first.
  private RawPod echo(AtomicInteger seeds) {
    try {
      return pod((request, wire) -> {
        SplittableRandom random = new SplittableRandom(seeds.incrementAndGet());
        StringBuilder answer = new StringBuilder(CHUNKED);
        for (int at = 0; at < request.body().length(); ) {
          int end = Math.min(request.body().length(), at + random.nextInt(1, 20_000));
          answer.append(Integer.toHexString(end - at)).append("\r\n").append(request.body(), at, end).append("\r\n");
          at = end;
        }
        answer.append("0\r\n\r\n");
        for (int at = 0; at < answer.length(); ) {
          int end = Math.min(answer.length(), at + random.nextInt(1, 30_000));
          wire.write(answer.substring(at, end));
          at = end;
          if (random.nextInt(4) == 0) {
            Thread.yield();
          }
        }
      });
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String answer(PodResponse response, boolean streamed) throws IOException {
    if (!streamed) {
      return new String(response.readAll(1 << 20), UTF_8);
    }
    ByteArrayOutputStream come = new ByteArrayOutputStream();
    boolean ended;
    do {
      ended = response.stream((bytes, length) -> {
        come.write(bytes, 0, length);
        return come.size() % 3 > 0;
      });
    } while (!ended);
    return come.toString(UTF_8);
  }

  private static String onConnection(Executor thread, Callable<String> work) throws Exception {
    CompletableFuture<String> result = new CompletableFuture<>();
    new ConnectionThread(thread).start("caller", () -> {
      try {
        result.complete(work.call());
      } catch (Exception | Error e) {
        result.completeExceptionally(e);
      }
    }, true);
    return result.get();
  }

  /** The JVM writes who carries a virtual thread behind its name. */
  private static String carrier() {
    String thread = Thread.currentThread().toString();
    return thread.substring(thread.indexOf('@') + 1);
  }

  private static String sized(String body) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + body.length() + "\r\n\r\n" + body;
  }

  private PodResponse get(RawPod pod) throws PodException {
    return client.call(new PodRequest(pod.uri(), "GET", "/", Headers.EMPTY, new byte[0])).send();
  }

  private PodResponse post(RawPod pod, String body) throws PodException {
    return client.call(new PodRequest(pod.uri(), "POST", "/", Headers.EMPTY, body.getBytes(UTF_8))).send();
  }

  private RawPod pod(RawPod.Script script) throws IOException {
    RawPod pod = new RawPod(script);
    open.add(pod);
    return pod;
  }
}
