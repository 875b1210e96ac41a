package io.kvasir.cell.client;

import io.kvasir.cell.Decision;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts the requests of a node that are refused because the fleet lacks capacity, by model. Thread-safe. */
final class RefusalCounter {
  private final ConcurrentMap<String, AtomicInteger> refused = new ConcurrentHashMap<>();

  /** Counts a decision for a model that the roster has, if it is such a refusal; clients cannot add names. */
  void count(String model, Decision decision) {
    if (decision instanceof Decision.NoWorker none && lacksCapacity(none)) {
      refused.computeIfAbsent(model, _ -> new AtomicInteger()).incrementAndGet();
    }
  }

  private static boolean lacksCapacity(Decision.NoWorker none) {
    return switch (none.reason()) {
      case ALL_FULL -> true;
      case NOT_ADMITTED -> none.refusal() != null && !none.refusal().callersOwn();
      default -> false;
    };
  }

  /** Those since the last call. */
  Map<String, Integer> take() {
    Map<String, Integer> taken = new HashMap<>();
    refused.forEach((model, count) -> {
      int since = count.getAndSet(0);
      if (since > 0) {
        taken.put(model, since);
      }
    });
    return taken;
  }
}
