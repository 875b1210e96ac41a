package io.kvasir.time;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A timer on a {@link ManualClock}: actions run on the thread that moves the clock. One thread. */
public final class ManualTimer implements Timer {
  private final ManualClock clock;
  private final List<Pending> pending = new ArrayList<>();

  private record Pending(long due, Runnable action) {}

  public ManualTimer(ManualClock clock) {
    this.clock = clock;
  }

  @Override
  public Timeout schedule(long delayNanos, Runnable action) {
    Pending added = new Pending(clock.nanos() + delayNanos, action);
    pending.add(added);
    return () -> pending.remove(added);
  }

  /** Moves the clock to each action that is due, in order, and then to the end of the time. */
  public void advance(Duration by) {
    long end = clock.nanos() + by.toNanos();
    for (Pending next = next(end); next != null; next = next(end)) {
      pending.remove(next);
      clock.advance(Duration.ofNanos(Math.max(0, next.due() - clock.nanos())));
      next.action().run();
    }
    clock.advance(Duration.ofNanos(end - clock.nanos()));
  }

  /** Actions that wait. */
  public int pending() {
    return pending.size();
  }

  private @Nullable Pending next(long end) {
    return pending.stream()
        .filter(each -> each.due() <= end)
        .min(Comparator.comparingLong(Pending::due))
        .orElse(null);
  }
}
