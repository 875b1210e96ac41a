package io.kvasir.http.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.MemoryBudget;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.pekko.Done;
import org.apache.pekko.dispatch.Futures;
import org.apache.pekko.stream.stage.AsyncCallback;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.concurrent.Future;

final class ClientInputTest {
  private final List<String> announced = new ArrayList<>();
  private final ClientInput input =
      new ClientInput(
          new Received(), new MemoryBudget(1 << 20, NanoClock.SYSTEM, new Metrics(new PrometheusRegistry())), () -> {});

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void bytes_goOnInOrder_fromOneBufferToTheNext_andThenWait(long seed) {
    Random random = new Random(seed);
    byte[] sent = new byte[4000];
    random.nextBytes(sent);
    List<byte[]> buffers = new ArrayList<>();
    fillNext(buffers, new int[] {1 + random.nextInt(500), 1 + random.nextInt(500), 1 + random.nextInt(500)}, 0);
    for (int at = 0; at < sent.length; ) {
      int count = Math.min(sent.length - at, 1 + random.nextInt(700));
      ByteBuffer segment = ByteBuffer.wrap(sent, at, count);
      assertThat(input.accept(segment)).isNotNull();
      at += count;
    }
    byte[] rest = input.take();
    ByteBuffer all = ByteBuffer.allocate(sent.length);
    buffers.forEach(all::put);
    assertThat(rest).isNotNull();
    assertThat(all.put(rest).array()).isEqualTo(sent);
    assertThat(announced).isEmpty();
  }

  /** The next buffer is there as soon as the one before is full: what was read with its last bytes goes there, too. */
  private void fillNext(List<byte[]> buffers, int[] sizes, int next) {
    if (next < sizes.length) {
      byte[] buffer = new byte[sizes[next]];
      buffers.add(buffer);
      input.fill(buffer, 0, buffer.length, () -> fillNext(buffers, sizes, next + 1));
    }
  }

  private final class Received implements ClientInput.InputHandler {
    @Override
    public boolean received(int bytes) {
      return true;
    }

    @Override
    public InboundStream inbound() {
      return new InboundStream(
          new Noted<>("available"), new Noted<>("refused"), new Noted<>("ended"), new Noted<>("upgraded"));
    }

    @Override
    public boolean awaitsBody() {
      return true;
    }

    @Override
    public boolean isClosed() {
      return false;
    }
  }

  private final class Noted<T> implements AsyncCallback<T> {
    private final String name;

    Noted(String name) {
      this.name = name;
    }

    @Override
    public void invoke(T value) {
      announced.add(name);
    }

    @Override
    public Future<Done> invokeWithFeedback(T value) {
      invoke(value);
      return Futures.successful(Done.getInstance());
    }
  }
}
