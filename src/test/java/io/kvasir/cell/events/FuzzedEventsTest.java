package io.kvasir.cell.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.events.DecodedMessage;
import io.kvasir.events.EventDecoder;
import io.kvasir.events.Recording;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.WorkerBlocks;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * Real messages with bytes changed, cut, and spliced into one another: whatever of them can be read may be applied,
 * without an exception and within the memory there is. The long form: {@code -Dkvasir.test.fuzz.rounds=1000000}.
 */
final class FuzzedEventsTest {
  private static final int ROUNDS = Integer.getInteger("kvasir.test.fuzz.rounds", 40_000);
  private static final long BUDGET = 4 << 20;

  private final SplittableRandom random = new SplittableRandom(20_261_121);
  private final BlockIndex index = new BlockIndex(64, BUDGET);
  private final WorkerBlocks blocks = index.open(0);
  private final EventApplier applier = new EventApplier(blocks, 32);
  private final EventDecoder decoder = new EventDecoder();

  @Test
  void mutatedMessages_areAppliedWithoutHarm() throws IOException {
    List<byte[]> payloads = Recording.events().map(Recording.Message::payload).toList();
    long events = 0;
    for (int i = 0; i < ROUNDS; i++) {
      byte[] bytes = mutated(payloads);
      DecodedMessage decoded = decoder.decode(i, bytes);
      applier.apply(decoded.batch(), i);
      events += decoded.batch().events().size();
      assertThat(index.bytes()).isLessThanOrEqualTo(BUDGET);
    }
    assertThat(events).as("many are still readable").isGreaterThan(ROUNDS / 4);
    EventState state = applier.state();
    assertThat(state.applied()).isPositive();
    assertThat(state.refused() + state.parked()).as("more than there is room for").isPositive();
    blocks.clear();
    assertThat(index.rows()).isZero();
  }

  private byte[] mutated(List<byte[]> payloads) {
    byte[] bytes = payloads.get(random.nextInt(payloads.size())).clone();
    switch (random.nextInt(6)) {
      case 0 -> bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length));
      case 1 -> {
        byte[] other = payloads.get(random.nextInt(payloads.size()));
        int at = random.nextInt(Math.min(bytes.length, other.length));
        System.arraycopy(other, at, bytes, at, Math.min(bytes.length, other.length) - at);
      }
      default -> {}
    }
    for (int changes = random.nextInt(4); changes > 0 && bytes.length > 0; changes--) {
      // Mostly in what names blocks and tokens: the structure at the front is the decoder's own concern.
      bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
    }
    return bytes;
  }
}
