package io.kvasir.limits;

import org.jspecify.annotations.Nullable;

/**
 * A node's report of its lease of one quota, with what it asks for. Immutable; crosses between nodes.
 *
 * @param quota the quota, as the node knows it
 * @param granted all that owners have ever granted the node, less what it returned; of slots, those it holds
 * @param available what of that is unused; below 0 when requests used more than was reserved for them
 * @param need what is asked for
 * @param uncounted all that the node has ever given itself while no owner answered
 * @param acknowledged what of {@code uncounted} an owner has confirmed to have counted
 * @param stamp the latest stamp that the node knows, null when it knows none
 */
public record LeaseReport(
    Quota quota,
    long granted,
    long available,
    Need need,
    long uncounted,
    long acknowledged,
    @Nullable Stamp stamp) {
  /**
   * What a node asks for.
   *
   * @param active whether it has had requests lately, and so asks for some in advance
   * @param waiting what waiting requests need together
   * @param leastWaiting what the smallest of them needs: less is of no use; 0 without one
   */
  public record Need(boolean active, long waiting, long leastWaiting) {}
}
