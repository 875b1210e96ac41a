/**
 * How KV moves between simulated engines, as each engine family does it: a {@code Connector} reads from a request what
 * its sequences have to do with other engines ({@link io.kvasir.sim.transfer.Leg}) and writes into an answer what the
 * next leg needs; the {@code Outbox} keeps blocks for others until they are fetched or their lease ends; the {@code
 * SideChannel} is where a {@code Courier} of another engine fetches them.
 */
@NullMarked
package io.kvasir.sim.transfer;

import org.jspecify.annotations.NullMarked;
