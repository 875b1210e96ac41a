/**
 * KV transfer between simulated engines, as each engine family does it: a {@code KvConnector} reads a request's
 * transfers ({@link io.kvasir.sim.transfer.TransferSpec}) and writes the parameters for the next engine into the
 * answer; {@code KvLeases} keeps blocks for other engines until they are fetched or their lease ends; the {@code
 * SideChannel} serves them to the {@code KvFetcher} of another engine. {@link io.kvasir.sim.transfer.TransferAgent} is
 * the way in.
 */
@NullMarked
package io.kvasir.sim.transfer;

import org.jspecify.annotations.NullMarked;
