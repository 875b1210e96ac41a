package io.kvasir.app.node;

import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Something that is read once a second at most, for all that want it; who comes while it is read waits. Thread-safe.
 *
 * @param <T> what it is, immutable
 */
final class Recent<T> {
  private static final long FRESH = Duration.ofMillis(900).toNanos();

  private final Supplier<T> source;
  private final NanoClock clock;
  private @Nullable T last;
  private long readAt;

  Recent(Supplier<T> source, NanoClock clock) {
    this.source = source;
    this.clock = clock;
  }

  synchronized T get() {
    T known = last;
    if (known == null || clock.nanos() - readAt > FRESH) {
      known = source.get();
      last = known;
      readAt = clock.nanos();
    }
    return known;
  }
}
