package io.kvasir.cell;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.WorkerStatus.EventStream;
import org.junit.jupiter.api.Test;

final class EventModeTest {
  private static EventStream stream(long lagMillis, long agoMillis) {
    return new EventStream("zmq", true, lagMillis, System.currentTimeMillis() - agoMillis, 0, 0, null);
  }

  /** An idle engine's last message is from before the router started. */
  @Test
  void lag_ofAReplayThatHasEnded_isNotKnown() {
    EventStream replayed = stream(20_000, 600_000);

    assertThat(EventMode.of(replayed, false, 9)).isEqualTo(EventMode.LIVE);
    assertThat(EventMode.lagMillis(replayed)).isEqualTo(-1);
  }

  @Test
  void lag_ofMessagesThatAreBeingRead_orCameAsTheyHappened_isTheirs() {
    EventStream reading = stream(20_000, 0);

    assertThat(EventMode.of(reading, false, 9)).isEqualTo(EventMode.REPLAYING);
    assertThat(EventMode.lagMillis(reading)).isEqualTo(20_000);
    assertThat(EventMode.lagMillis(stream(12, 600_000))).isEqualTo(12);
  }
}
