package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Hashing;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.Picker;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import java.util.Arrays;
import java.util.Set;

/**
 * Consistent hashing with bounded load: every worker has {@code virtual-nodes} (160) points on a ring, and a request is
 * sent to the first worker after its key that has less than {@code load-factor} (1.25) times the mean of requests in
 * flight. A worker that is added or removed moves only its own share of keys.
 *
 * <p>A request without a key is sent to a random point.
 *
 * <p>Mirrokni, Thorup, Zadimoghaddam: "Consistent Hashing with Bounded Loads", 2016.
 */
final class ConsistentHashPicker implements Picker {
  private static final int SLOT_BITS = 8;
  private static final long SLOT = (1 << SLOT_BITS) - 1;

  private final double loadFactor;
  /** Points in unsigned order: 56 bits of position and 8 of slot. */
  private final PerMembership<long[]> rings;

  ConsistentHashPicker(Parameters parameters) {
    this.loadFactor = parameters.number("load-factor", 1.25, 1, 1e6);
    int virtualNodes = parameters.whole("virtual-nodes", 160, 1, 10_000);
    this.rings = new PerMembership<>(table -> ring(table, virtualNodes));
  }

  private static long[] ring(Worker[] table, int virtualNodes) {
    long[] points = new long[(int) Arrays.stream(table).filter(worker -> worker != null).count() * virtualNodes];
    int count = 0;
    for (int slot = 0; slot < table.length; slot++) {
      if (table[slot] != null) {
        long position = Hashing.mix(Hashing.of(table[slot].id()));
        for (int i = 0; i < virtualNodes; i++) {
          position = Hashing.mix(position + i);
          // With the sign bit flipped, signed order is unsigned order.
          points[count++] = ((position & ~SLOT) | slot) ^ Long.MIN_VALUE;
        }
      }
    }
    Arrays.sort(points);
    return points;
  }

  @Override
  public int pick(RoutingContext context, Candidates candidates, double[] scores, int[] ranked) {
    long[] ring = rings.of(candidates);
    long inFlight = 0;
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      inFlight += candidates.inFlight[slot];
    }
    int maxInFlight = (int) Math.ceil(loadFactor * (inFlight + 1) / candidates.count());
    int start = Arrays.binarySearch(ring, key(context));
    int at = start < 0 ? ~start : start;
    int count = 0;
    for (int i = 0; i < ring.length && count < ranked.length; i++) {
      int slot = (int) (ring[(at + i) % ring.length] & SLOT);
      if (candidates.has(slot) && candidates.inFlight[slot] < maxInFlight && !contains(ranked, count, slot)) {
        ranked[count++] = slot;
      }
    }
    return count;
  }

  private static long key(RoutingContext context) {
    long key = context.number(Slots.HASH_KEY);
    return key == Slots.NO_KEY ? context.random().nextLong() : key;
  }

  private static boolean contains(int[] ranked, int count, int slot) {
    for (int i = 0; i < count; i++) {
      if (ranked[i] == slot) {
        return true;
      }
    }
    return false;
  }

  @Override
  public boolean readsScores() {
    return false;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.HASH_KEY);
  }
}
