/**
 * How KV moves between simulated engines, as each engine family does it: a {@code KvConnector} reads from a request
 * what its sequences have to do with other engines ({@link io.kvasir.sim.transfer.TransferSpec}) and writes into an
 * answer what the next leg needs; the {@code KvLeases} keeps blocks for others until they are fetched or their lease
 * ends; the {@code SideChannel} is where a {@code KvFetcher} of another engine fetches them.
 */
@NullMarked
package io.kvasir.sim.transfer;

import org.jspecify.annotations.NullMarked;
