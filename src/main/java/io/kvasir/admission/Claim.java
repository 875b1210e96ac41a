package io.kvasir.admission;

import org.jspecify.annotations.Nullable;

/**
 * What a request is to its cell's waiting room. Small enough to cross the cluster with the request. Immutable.
 *
 * @param serviceClass how urgent it is
 * @param tenant who shares turns with it; empty for callers without a name
 * @param weight the tenant's share against others, 1 or more
 * @param program the program that it is a turn of, by any id; null when nothing says so
 * @param bytes of memory that it takes while it waits, 0 or more
 * @param waitedMillis how long it has waited already, at this home or at the one before
 */
public record Claim(
    ServiceClass serviceClass, String tenant, int weight, @Nullable String program, long bytes, long waitedMillis) {
  /** The same of another class. */
  public Claim as(ServiceClass other) {
    return new Claim(other, tenant, weight, program, bytes, waitedMillis);
  }

  /** The same after a longer wait. */
  public Claim waited(long millis) {
    return new Claim(serviceClass, tenant, weight, program, bytes, millis);
  }
}
