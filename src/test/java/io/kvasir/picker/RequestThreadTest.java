package io.kvasir.picker;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.Await;
import java.net.URI;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where requests of gateways run, and what they do not hold up. */
final class RequestThreadTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\",\"messages\":[]}";

  /** A gateway has one connection for all requests of one of its threads. */
  @Test
  void requestThatWaits_holdsUpNoOtherOfItsConnection() throws Exception {
    try (TestPicker picker = new TestPicker(TestPicker.SETTINGS)) {
      picker.cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
      CountDownLatch released = new CountDownLatch(1);
      AtomicBoolean first = new AtomicBoolean(true);
      picker.cells.deciding = () -> {
        if (first.getAndSet(false)) {
          Await.await(() -> released.getCount() == 0);
        }
      };
      TestStream waiting = picker.stream().head("POST", CHAT, false).body(BODY, true);
      Await.await(() -> !first.get());
      TestStream other = picker.stream().head("POST", CHAT, false).body(BODY, true);
      other.destined();
      assertThat(other.echo()).isEqualTo(BODY);
      assertThat(waiting.hasReply()).isFalse();

      released.countDown();
      waiting.destined();
      waiting.cancel();
      other.cancel();
      Await.await(() -> picker.cells.open.get() == 0);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {100, 15_000, 17_000, 200_000})
  void request_isDecidedOnItsConnectionsThread_whereItIsShort(int length) throws Exception {
    try (TestPicker picker = new TestPicker(TestPicker.SETTINGS)) {
      picker.cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
      AtomicReference<String> decider = new AtomicReference<>("");
      picker.cells.deciding = () -> decider.set(Thread.currentThread().toString());
      String body = BODY + " ".repeat(length - BODY.length());
      TestStream stream = picker.stream().head("POST", CHAT, false).body(body, true);
      stream.destined();
      assertThat(stream.echo()).isEqualTo(body);

      // The JVM writes who carries a virtual thread behind its name.
      assertThat(String.valueOf(decider.get()).contains("@ForkJoinPool")).isEqualTo(length > 16 << 10);
      stream.cancel();
      Await.await(() -> picker.cells.open.get() == 0);
    }
  }
}
