package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.RequestMemory;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import io.kvasir.time.ManualClock;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which node reads a worker's events is asked once, however many pushes wait for it, and remembered for a while. */
final class PushForwarderTest {
  private final ActorTestKit kit = ActorTestKit.create();
  private final ManualClock clock = new ManualClock();
  private final PushForwarder forwarder = new PushForwarder(kit.system(), null, clock);
  private final AtomicInteger queries = new AtomicInteger();
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final ScriptedPod gateway =
      new ScriptedPod((request, out) -> out.json(202, "{}", "Retry-After", "1", "X-Other", "2"));

  @AfterEach
  void stop() {
    threads.shutdownNow();
    forwarder.close();
    gateway.close();
    kit.shutdownTestKit();
  }

  @Test
  void push_isForwardedWithItsHeaders_andTheAnswerComesBack() throws Exception {
    forwarder.announce(gateway.url().toString(), worker -> worker.equals("a"));
    Response answer = Objects.requireNonNull(forwarder.forward("a", new Push("/v1/events/a?rank=1")));

    assertThat(answer.status()).isEqualTo(202);
    assertThat(answer.headers().first("Retry-After")).isEqualTo("1");
    assertThat(answer.headers().has("X-Other")).isFalse();
    ScriptedPod.ReceivedRequest seen = gateway.next();
    assertThat(seen.target()).isEqualTo("/v1/events/a?rank=1");
    assertThat(seen.text()).isEqualTo("body");
    assertThat(seen.headers().first("Kvasir-Forwarded")).isEqualTo("1");
    assertThat(seen.headers().first("Authorization")).isEqualTo("Bearer k");
    assertThat(seen.headers().has("X-Own")).isFalse();
  }

  @Test
  void unknownWorker_isAskedForOnce_untilThatIsForgotten() throws Exception {
    forwarder.announce(gateway.url().toString(), worker -> {
      queries.incrementAndGet();
      return false;
    });
    for (int i = 0; i < 5; i++) {
      assertThat(forwarder.forward("x", new Push("/v1/events/x"))).isNull();
    }
    assertThat(queries).hasValue(1);
    clock.advance(Duration.ofSeconds(2));
    assertThat(forwarder.forward("x", new Push("/v1/events/x"))).isNull();
    assertThat(queries).hasValue(2);
  }

  @Test
  void pushesThatComeTogether_shareOneLookup() throws Exception {
    CountDownLatch answer = new CountDownLatch(1);
    forwarder.announce(gateway.url().toString(), worker -> {
      queries.incrementAndGet();
      return await(answer);
    });
    List<Future<@Nullable Response>> pushes = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      Callable<@Nullable Response> push = () -> forwarder.forward("a", new Push("/v1/events/a"));
      pushes.add(threads.submit(push));
    }
    answer.countDown();
    for (Future<@Nullable Response> push : pushes) {
      assertThat(push.get(60, TimeUnit.SECONDS)).isNotNull();
    }
    assertThat(queries).hasValue(1);
  }

  private static boolean await(CountDownLatch latch) {
    try {
      return latch.await(60, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private record Push(String target) implements Exchange {
    @Override
    public String method() {
      return "POST";
    }

    @Override
    public Headers headers() {
      return Headers.of("Authorization", "Bearer k", "X-Own", "1");
    }

    @Override
    public byte[] body() {
      return "body".getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public RequestMemory memory() {
      return RequestMemory.UNCOUNTED;
    }

    @Override
    public InetAddress client() {
      return InetAddress.getLoopbackAddress();
    }

    @Override
    public Cancellation cancellation() {
      return Cancellation.NONE;
    }
  }
}
