package io.kvasir.http.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.ChannelReader;
import java.io.IOException;
import java.nio.channels.AsynchronousCloseException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class PlainConnectionTest {
  private static final int ROUNDS = 4_000;

  private final AtomicInteger arrivals = new AtomicInteger();

  /** Either the caller sees that the connection is over, or the reader is told. */
  @Test
  void connectionThatEndsAsItIsHandedOver_endsForWhoeverReads() throws Exception {
    PlainConnection[] connections = new PlainConnection[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
      connections[i] = new PlainConnection(new PodOrigin(false, "localhost", 1), () -> {
        throw new IllegalStateException("it is not watched");
      });
      connections[i].closeSocket();
    }
    CompletableFuture<@Nullable Void> ending =
        CompletableFuture.runAsync(() -> {
          for (int i = 0; i < ROUNDS; i++) {
            meet(i, i % 64);
            connections[i].ended(null);
          }
        });
    AtomicInteger ends = new AtomicInteger();
    for (int i = 0; i < ROUNDS; i++) {
      meet(i, i / 64 % 64);
      try {
        connections[i].handTo(new Counted(ends));
      } catch (AsynchronousCloseException e) {
        ends.incrementAndGet();
      }
    }
    ending.get();
    assertThat(ends).hasValue(ROUNDS);
  }

  /** Has both threads go on at the same time, but for a little. */
  private void meet(int round, int later) {
    arrivals.incrementAndGet();
    while (arrivals.get() < 2 * (round + 1)) {
      Thread.onSpinWait();
    }
    for (int i = 0; i < later; i++) {
      Thread.onSpinWait();
    }
  }

  private record Counted(AtomicInteger ends) implements ChannelReader {
    @Override
    public ChannelReader.Next read(ChannelReader.Buffers buffers) {
      return ChannelReader.Next.MORE;
    }

    @Override
    public void ended(@Nullable IOException failure) {
      ends.incrementAndGet();
    }
  }
}
