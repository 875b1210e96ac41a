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
 * @param waitedMillis how long it has waited already, at this home or at the one before, and at workers from which it
 *     was taken back
 * @param preemptions how often it was taken back from a worker; 0 from a node of an earlier version
 * @param mostPreemptions how often it may be; 0 for never, and from a node of an earlier version
 */
public record Claim(
    ServiceClass serviceClass,
    String tenant,
    int weight,
    @Nullable String program,
    long bytes,
    long waitedMillis,
    int preemptions,
    int mostPreemptions) {
  /** One that is never taken back from its worker. */
  public Claim(
      ServiceClass serviceClass, String tenant, int weight, @Nullable String program, long bytes, long waitedMillis) {
    this(serviceClass, tenant, weight, program, bytes, waitedMillis, 0, 0);
  }

  /** The same of another class. */
  public Claim as(ServiceClass other) {
    return new Claim(other, tenant, weight, program, bytes, waitedMillis, preemptions, mostPreemptions);
  }

  /** The same after a longer wait. */
  public Claim waited(long millis) {
    return new Claim(serviceClass, tenant, weight, program, bytes, millis, preemptions, mostPreemptions);
  }

  /** The same as one that may be taken back from its worker so many times, while its answer has not begun. */
  public Claim preemptible(int most) {
    return new Claim(serviceClass, tenant, weight, program, bytes, waitedMillis, preemptions, most);
  }

  /** The same after it was taken back from its worker once more, so many milliseconds later. */
  public Claim preempted(long millis) {
    return new Claim(
        serviceClass, tenant, weight, program, bytes, waitedMillis + millis, preemptions + 1, mostPreemptions);
  }

  /** Whether it may be taken back from a worker yet. */
  public boolean mayBePreempted() {
    return preemptions < mostPreemptions;
  }
}
