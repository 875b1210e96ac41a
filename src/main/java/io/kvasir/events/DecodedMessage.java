package io.kvasir.events;

import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A decoded message: the events that could be read, and the faults.
 *
 * @param batch the events that could be read, possibly none
 * @param faults how often each fault occurred; empty for a message without any
 * @param detail the first lossy fault in words, null when no event was lost
 * @param publisher whom it names as its publisher, which another process is not; 0 for none
 */
public record DecodedMessage(
    KvBatch batch, Map<DecodeFault, Integer> faults, @Nullable String detail, long publisher) {
  /** A message that names no publisher. */
  public DecodedMessage(KvBatch batch, Map<DecodeFault, Integer> faults, @Nullable String detail) {
    this(batch, faults, detail, 0);
  }


  /** Whether no event was lost. */
  public boolean intact() {
    return detail == null;
  }

  /** The faults of the message that is being decoded. */
  static final class FaultCollector {
    private final EnumMap<DecodeFault, Integer> counts = new EnumMap<>(DecodeFault.class);
    private @Nullable String detail;

    void add(DecodeFault fault, String what) {
      counts.merge(fault, 1, Integer::sum);
      if (fault.lossy() && detail == null) {
        detail = what;
      }
    }

    DecodedMessage of(KvBatch batch) {
      return of(batch, 0);
    }

    DecodedMessage of(KvBatch batch, long publisher) {
      return new DecodedMessage(batch, counts.isEmpty() ? Map.of() : new EnumMap<>(counts), detail, publisher);
    }

    void clear() {
      counts.clear();
      detail = null;
    }
  }
}
