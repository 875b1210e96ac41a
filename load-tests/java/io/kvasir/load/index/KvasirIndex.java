package io.kvasir.load.index;

import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.index.WorkerBlocks;
import io.kvasir.load.index.IndexTrace.Request;

/** The index of the product. */
final class KvasirIndex implements IndexUnderTest {
  static final String NAME = "kvasir";

  private final BlockIndex index;
  private final WorkerBlocks[] workers;
  private final long[] candidates;

  KvasirIndex(int workers) {
    int slots = workers <= 64 ? 64 : workers <= 128 ? 128 : 256;
    this.index = new BlockIndex(slots, 8L << 30);
    this.workers = new WorkerBlocks[workers];
    this.candidates = new long[slots / 64];
    for (int i = 0; i < workers; i++) {
      this.workers[i] = index.open(i);
      candidates[i / 64] |= 1L << i;
    }
  }

  @Override
  public int apply(Request request) {
    WorkerBlocks worker = workers[request.worker()];
    int evicted = request.evicted().length;
    if (evicted > 0) {
      worker.remove(request.evicted(), evicted, Tier.DEVICE, true);
    }
    int count = request.keys().length;
    if (count == 0) {
      return evicted;
    }
    int held = request.held();
    long parent = held == 0 ? 0 : IndexTrace.key(request.chain()[held - 1]);
    return evicted
        + worker.store(parent, held == 0, request.keys(), request.hashes(), count, Tier.DEVICE, true);
  }

  @Override
  public void search(long[] chain, long[] locals, int[] depths) {
    index.search(new Chain(chain, 16), candidates, depths);
  }

  @Override
  public long pairs() {
    long pairs = 0;
    for (WorkerBlocks worker : workers) {
      pairs += worker.size();
    }
    return pairs;
  }
}
