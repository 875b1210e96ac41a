package io.kvasir.http.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.http.Headers;
import io.kvasir.http.client.PodException.Kind;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.time.Duration;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.function.IntConsumer;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Bodies of pods that are read piece by piece in a loop with others. */
@Timeout(60)
final class StreamedBodyTest {
  private static final String CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

  private final PodClient client =
      new PodClient(PodClient.Settings.defaults(), new Metrics(new PrometheusRegistry()), NanoClock.SYSTEM);

  @AfterEach
  void close() {
    client.close();
  }

  @Test
  void bodies_areWhole_howeverTheyAreCut_onOneConnection() throws Exception {
    Random random = new Random(7);
    StringBuilder sent = new StringBuilder();
    try (RawPod pod = new RawPod((request, wire) -> {
      StringBuilder framed = new StringBuilder();
      sent.setLength(0);
      for (int chunks = random.nextInt(8); chunks > 0; chunks--) {
        String data = "0123456789".repeat(2000).substring(0, 1 + random.nextInt(random.nextBoolean() ? 20 : 19_999));
        sent.append(data);
        framed.append(Integer.toHexString(data.length())).append("\r\n").append(data).append("\r\n");
      }
      framed.append("0\r\n\r\n");
      wire.write(CHUNKED);
      int piece = 1 + random.nextInt(3000);
      for (int at = 0; at < framed.length(); at += piece) {
        wire.write(framed.substring(at, Math.min(framed.length(), at + piece)));
      }
    })) {
      for (int round = 0; round < 100; round++) {
        PodResponse response = get(pod);
        StringBuilder got = new StringBuilder();
        // A receiver that wants no more for now may leave bytes behind that were read already.
        int most = random.nextInt(4);
        int[] pieces = {0};
        while (!response.stream((bytes, length) -> {
          got.append(new String(bytes, 0, length, UTF_8));
          return ++pieces[0] % 4 != most;
        })) {
          assertThat(response.hasEnded()).isFalse();
        }
        assertThat(got).hasToString(sent.toString());
      }
      assertThat(pod.connections()).isEqualTo(1);
    }
  }

  @Test
  void threadsOfAClient_beginWithItsFirstConnection() throws Exception {
    Set<Thread> before = loopThreads();
    try (RawPod pod = new RawPod((request, wire) -> wire.write(CHUNKED + "3\r\nabc\r\n0\r\n\r\n"))) {
      assertThat(get(pod).stream((_, _) -> true)).isTrue();
      assertThat(loopThreads()).anyMatch(thread -> !before.contains(thread));
    }
  }

  @Test
  void receiverThatWantsNoMore_isGivenTheRestWhenItDoes() throws Exception {
    // More than one piece holds.
    String body = "abcdefghij".repeat(20_000);
    try (RawPod pod = new RawPod((request, wire) ->
        wire.write(CHUNKED + Integer.toHexString(body.length()) + "\r\n" + body + "\r\n0\r\n\r\n"))) {
      PodResponse response = get(pod);
      StringBuilder got = new StringBuilder();
      int rounds = 1;
      while (!response.stream((bytes, length) -> {
        got.append(new String(bytes, 0, length, UTF_8));
        return false;
      })) {
        rounds++;
      }
      assertThat(got).hasToString(body);
      assertThat(rounds).isGreaterThan(4);
    }
  }

  @Test
  void receiverThatFails_isNotThePodsFailure() throws Exception {
    try (RawPod pod = new RawPod((request, wire) -> wire.write(CHUNKED + "3\r\nabc\r\n"))) {
      PodResponse response = get(pod);
      assertThatThrownBy(() -> response.stream((_, _) -> {
        throw new IOException("the client has gone");
      })).isExactlyInstanceOf(IOException.class).hasMessage("the client has gone");
      response.close();
    }
  }

  @Test
  void bugInTheReceiver_isNotThePodsFailure() throws Exception {
    try (RawPod pod = new RawPod((request, wire) -> wire.write(CHUNKED + "3\r\nabc\r\n"))) {
      PodResponse response = get(pod);
      assertThatThrownBy(() -> response.stream((_, _) -> {
        throw new IllegalStateException("a bug");
      })).isExactlyInstanceOf(IllegalStateException.class).hasMessage("a bug");
      response.close();
    }
  }

  @Test
  void bodyThatIsCut_isTruncated() throws Exception {
    try (RawPod pod = new RawPod((request, wire) -> {
      wire.write(CHUNKED + "5\r\nhel");
      wire.close();
    })) {
      PodResponse response = get(pod);
      assertKind(Kind.TRUNCATED, response, _ -> {});
    }
  }

  @Test
  void abort_endsTheWait() throws Exception {
    CountDownLatch held = new CountDownLatch(1);
    try (RawPod pod = new RawPod((request, wire) -> {
      wire.write(CHUNKED + "3\r\nabc\r\n");
      held.await();
    })) {
      PodCall call = client.call(new PodRequest(pod.uri(), "GET", "/", Headers.EMPTY, new byte[0]));
      assertKind(Kind.ABORTED, call.send(), _ -> Thread.startVirtualThread(call::abort));
    } finally {
      held.countDown();
    }
  }

  @Test
  void silence_endsTheWait() throws Exception {
    CountDownLatch held = new CountDownLatch(1);
    try (RawPod pod = new RawPod((request, wire) -> {
      wire.write(CHUNKED + "3\r\nabc\r\n");
      held.await();
    })) {
      Duration idle = Duration.ofMillis(150);
      PodRequest request = new PodRequest(pod.uri(), "GET", "/", Headers.EMPTY, new byte[0]);
      assertKind(Kind.IDLE_TIMEOUT, client.call(request, Duration.ofSeconds(60), idle).send(), _ -> {});
    } finally {
      held.countDown();
    }
  }

  @Test
  void closedClient_endsTheWait() throws Exception {
    CompletableFuture<Boolean> held = new CompletableFuture<>();
    try (RawPod pod = new RawPod((request, wire) -> {
      wire.write(CHUNKED + "3\r\nabc\r\n");
      held.get();
    })) {
      PodResponse response = get(pod);
      assertThatThrownBy(() -> response.stream((_, _) -> {
        Thread.startVirtualThread(client::close);
        return true;
      })).isInstanceOf(PodException.class);
    } finally {
      held.complete(true);
    }
  }

  private void assertKind(Kind kind, PodResponse response, IntConsumer onPiece) {
    assertThatThrownBy(() -> response.stream((_, length) -> {
      onPiece.accept(length);
      return true;
    })).isInstanceOfSatisfying(PodException.class, e -> assertThat(e.kind()).isEqualTo(kind));
  }

  private static Set<Thread> loopThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("pod-connections"))
        .collect(Collectors.toSet());
  }

  private PodResponse get(RawPod pod) throws PodException {
    return client.call(new PodRequest(pod.uri(), "GET", "/", Headers.EMPTY, new byte[0])).send();
  }
}
