package io.kvasir.gateway.traffic;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.kvasir.gateway.traffic.SampledChains.Sample;
import io.kvasir.index.Chain;
import java.lang.management.ManagementFactory;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class SampledChainsTest {
  private final AtomicLong millis = new AtomicLong(5_000);
  private final SampledChains chains = new SampledChains(() -> Instant.ofEpochMilli(millis.get()));

  @Test
  void chains_areKeptWithWhatIsKnownOfThem() {
    chains.offer("m", "t", chain(1, 3));
    chains.offer("m", "", chain(2, 3));
    chains.offer("other", "t", chain(3, 3));
    chains.offer("m", "t", Chain.EMPTY);

    assertThat(chains.of("m"))
        .containsExactly(new Sample("m", "t", chain(1, 3), 5_000), new Sample("m", null, chain(2, 3), 5_000));
    assertThat(chains.of("nobody's")).isEmpty();
  }

  @Test
  void ofASecond_theFirstAreKept() {
    for (int second = 0; second < 3; second++) {
      for (int i = 0; i < 5 * SampledChains.PER_SECOND; i++) {
        chains.offer("m", "t", chain(i, 1));
      }
      assertThat(chains.of("m")).hasSize((second + 1) * SampledChains.PER_SECOND);
      millis.addAndGet(1000);
    }
  }

  @Test
  void ofAllThatAreKept_andOfEach_thereIsAMost() {
    for (int i = 0; i < SampledChains.CAPACITY + 10; i++) {
      chains.offer("m", "t", chain(i, SampledChains.BLOCKS + 1));
      millis.addAndGet(1000);
    }

    assertThat(chains.of("m")).hasSize(SampledChains.CAPACITY);
    assertThat(chains.of("m").getFirst().chain()).isEqualTo(chain(10, SampledChains.BLOCKS));
  }

  @Test
  void oneThatIsNotKept_costsNoMemory() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    SampledChains system = new SampledChains(new FixedTime());
    Chain chain = chain(1, 1000);
    for (int i = 0; i < 20_000; i++) {
      system.offer("m", "t", chain);
    }
    long before = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < 100_000; i++) {
      system.offer("m", "t", chain);
    }
    assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(10_000);
    assertThat(system.of("m")).hasSize(SampledChains.PER_SECOND);
  }

  /** A time that stands still, told without an object. */
  private static final class FixedTime implements InstantSource {
    @Override
    public Instant instant() {
      return Instant.EPOCH;
    }

    @Override
    public long millis() {
      return 0;
    }
  }

  private static Chain chain(long first, int blocks) {
    return new Chain(LongStream.range(first, first + blocks).toArray(), 16);
  }
}
