/**
 * Limits: how much callers may use, over all nodes together.
 *
 * <p>{@link io.kvasir.limits.Limiter} admits a request and reserves what it is expected to use; its
 * {@link io.kvasir.limits.LimitReservation} is settled with what it has used. Every limit of a key or tenant has one
 * owner in the cluster, a sharded entity ({@link io.kvasir.limits.LimitOwner}) with the token buckets, budgets and
 * slots. A node has an {@link io.kvasir.limits.Account} of each key and tenant that it has seen, with
 * {@linkplain io.kvasir.limits.Lease leases} of small parts: requests are admitted from these without a message and
 * without a lock, and an actor of the node ({@link io.kvasir.limits.LeaseKeeper}) renews them in the background before
 * they run out.
 *
 * <p>There is no database. With every renewal an owner tells the node how much was left, and a node shows the latest of
 * these {@link io.kvasir.limits.Stamp}s to a new owner, which so continues where the last one stopped; one that stops
 * in good order leaves its own to the next. A node whose owner does not answer gives itself its share: the limit,
 * divided by the last known number of nodes.
 */
@NullMarked
package io.kvasir.limits;

import org.jspecify.annotations.NullMarked;
