package io.kvasir.cell.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.routing.Booking;
import org.junit.jupiter.api.Test;

/** What is taken to be read of prompts whose answers come as a whole. */
final class WorkerLoadTest {
  private static final long MILLI = 1_000_000;
  private static final Booking HUNDRED_MS = new Booking(1000, 1000, 100_000);

  private final WorkerLoad load = new WorkerLoad(10);

  private void begin(long now) {
    assertThat(load.book(HUNDRED_MS)).isTrue();
    load.beginSilent(HUNDRED_MS, now);
  }

  @Test
  void silentPrompts_areReadOneAfterAnother() {
    long start = -5 * MILLI;
    begin(start);
    begin(start);
    assertThat(load.silentlyReadMs(start)).isZero();
    assertThat(load.silentlyReadMs(start + 50 * MILLI)).isEqualTo(50);
    assertThat(load.silentlyReadMs(start + 200 * MILLI)).isEqualTo(200);
    assertThat(load.silentlyReadMs(start + 900 * MILLI)).isEqualTo(200).isEqualTo(load.queueMs());

    begin(start + 900 * MILLI);
    assertThat(load.silentlyReadMs(start + 900 * MILLI)).as("the third begins now").isEqualTo(200);
  }

  @Test
  void whoIsEarly_leavesNoTimeToTheNext() {
    begin(0);
    load.settle(HUNDRED_MS);
    load.release(HUNDRED_MS);
    load.endSilent(HUNDRED_MS);
    begin(MILLI);
    assertThat(load.silentlyReadMs(101 * MILLI)).isEqualTo(100);
  }
}
