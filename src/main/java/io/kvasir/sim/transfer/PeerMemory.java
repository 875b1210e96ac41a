package io.kvasir.sim.transfer;

import java.util.concurrent.CompletableFuture;

/** What an engine holds, for peers that pull from it. Thread-safe. */
@FunctionalInterface
public interface PeerMemory {
  /** Leading blocks of a prompt's keys that it holds. */
  CompletableFuture<Integer> held(long[] keys);
}
