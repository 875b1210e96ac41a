package io.kvasir.cell.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.admission.HoldReason;
import org.junit.jupiter.api.Test;

final class HoldTimesTest {
  private static final long MS = 1_000_000;

  @Test
  void times_areAddedByReason_theLongestFirst() {
    HoldTimes held = new HoldTimes(HoldReason.TURN, 5 * MS);
    held.heldFor(HoldReason.BUSY, 32 * MS);
    held.heldFor(HoldReason.BUSY, 40 * MS);
    held.heldFor(HoldReason.FULL, 152 * MS);
    held.heldFor(HoldReason.BUSY, 152 * MS + 999_999);

    assertThat(held.text(242 * MS)).isEqualTo("; held=busy:209,turn:27");
  }

  @Test
  void waitOfLessThanAMillisecond_isNotMentioned() {
    assertThat(new HoldTimes(HoldReason.TURN, 0).text(999_999)).isEmpty();
  }
}
