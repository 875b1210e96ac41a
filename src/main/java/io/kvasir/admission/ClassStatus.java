package io.kvasir.admission;

import java.util.Map;
import java.util.Objects;

/**
 * The requests of a class that wait.
 *
 * @param length how many
 * @param bytes the memory that they take
 * @param tokens that workers will have to compute, as far as is known
 * @param oldestMillis how long the first of them has waited, 0 when nobody does
 * @param reasons how many wait for what, by {@link HoldReason#label}; empty from a node of an earlier version
 */
public record ClassStatus(
    ServiceClass serviceClass, int length, long bytes, long tokens, long oldestMillis, Map<String, Integer> reasons) {
  /** Takes the status of a node of an earlier version, too. */
  public ClassStatus {
    reasons = Objects.requireNonNullElse(reasons, Map.of());
  }
}
