package io.kvasir.picker;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.time.ManualClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Load that counts for a time. */
final class UnseenBookingsTest {
  private final ManualClock clock = new ManualClock();
  private final UnseenBookings bookings = new UnseenBookings(Duration.ofSeconds(2), clock);
  private final List<String> ended = new ArrayList<>();

  @Test
  void each_countsForItsTime() {
    bookings.add(() -> ended.add("first"));
    clock.advance(Duration.ofSeconds(1));
    bookings.add(() -> ended.add("second"));
    bookings.endDue();
    assertThat(ended).isEmpty();

    clock.advance(Duration.ofSeconds(1));
    bookings.endDue();
    assertThat(ended).containsExactly("first");
    clock.advance(Duration.ofSeconds(1));
    bookings.endDue();
    bookings.endDue();
    assertThat(ended).containsExactly("first", "second");
  }

  @Test
  void one_thatFails_keepsNoOther() {
    bookings.add(() -> {
      throw new IllegalStateException("it is closed");
    });
    bookings.add(() -> ended.add("second"));
    clock.advance(Duration.ofSeconds(2));
    bookings.endDue();

    assertThat(ended).containsExactly("second");
  }

  @Test
  void all_endOnce_alsoWhileSomeAreDue() throws Exception {
    for (int round = 0; round < 200; round++) {
      AtomicInteger ends = new AtomicInteger();
      for (int i = 0; i < 100; i++) {
        bookings.add(ends::incrementAndGet);
      }
      clock.advance(Duration.ofSeconds(2));
      CompletableFuture<Void> due = CompletableFuture.runAsync(bookings::endDue);
      bookings.endAll();
      due.get(60, TimeUnit.SECONDS);
      assertThat(ends).hasValue(100);
    }
  }

  @Test
  void all_endWithThePicker() {
    bookings.add(() -> ended.add("first"));
    bookings.endAll();
    clock.advance(Duration.ofSeconds(2));
    bookings.endDue();

    assertThat(ended).containsExactly("first");
  }
}
