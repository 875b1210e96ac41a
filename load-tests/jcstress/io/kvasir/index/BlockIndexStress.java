package io.kvasir.index;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/** {@link BlockIndex}: searches beside writers of the same rows. */
public class BlockIndexStress {
  private static final long[] A = {11, 12, 13};
  private static final long[] B = {11, 12, 23};

  /** An index whose first two slots are open. */
  static class Fixture {
    final BlockIndex index = new BlockIndex(64, 16 << 20);
    final WorkerBlocks first = index.open(0);
    final WorkerBlocks second = index.open(1);

    static void store(WorkerBlocks worker, long... hashes) {
      int stored = worker.store(0, true, hashes, hashes, hashes.length, Tier.DEVICE, false);
      if (stored != hashes.length) {
        throw new IllegalStateException("the budget was reached");
      }
    }

    int depth(long[] hashes, int slot) {
      int[] depths = new int[64];
      index.search(new Chain(hashes, 16), new long[] {1L << slot}, depths);
      return depths[slot];
    }
  }

  /** Two workers claim the same rows, and fork after two blocks. */
  @JCStressTest
  @Outcome(id = "3, 3, 4", expect = Expect.ACCEPTABLE, desc = "both hold their chains, in one row per block")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a bit was lost or a block has two rows")
  @State
  public static class ClaimSameRows extends Fixture {
    @Actor
    public void storeFirst() {
      store(first, A);
    }

    @Actor
    public void storeSecond() {
      store(second, B);
    }

    @Arbiter
    public void read(III_Result result) {
      result.r1 = depth(A, 0);
      result.r2 = depth(B, 1);
      result.r3 = (int) index.rows();
    }
  }

  /** A search beside the writer that publishes the chain: some of its leading blocks, and never another worker's. */
  @JCStressTest
  @Outcome(id = {"0, 0", "1, 0", "2, 0", "3, 0"}, expect = Expect.ACCEPTABLE, desc = "leading blocks")
  @Outcome(expect = Expect.FORBIDDEN, desc = "blocks that the worker never stored")
  @State
  public static class SearchBesideStore extends Fixture {
    @Actor
    public void write() {
      store(first, A);
    }

    @Actor
    public void search(II_Result result) {
      result.r1 = depth(A, 0);
      result.r2 = depth(A, 1);
    }
  }

  /** One worker removes its last block and its rows while another one claims them again. */
  @JCStressTest
  @Outcome(id = "0, 3", expect = Expect.ACCEPTABLE, desc = "one holds nothing, the other one everything")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a bit was lost with its row")
  @State
  public static class RemoveBesideClaim extends Fixture {
    public RemoveBesideClaim() {
      store(first, A);
    }

    @Actor
    public void remove() {
      first.remove(A, A.length, Tier.DEVICE, false);
    }

    @Actor
    public void claim() {
      store(second, A);
    }

    @Arbiter
    public void read(II_Result result) {
      result.r1 = depth(A, 0);
      result.r2 = depth(A, 1);
    }
  }

  /** A worker's own block stays visible while another one's leave the same rows, and their memory is used again. */
  @JCStressTest
  @Outcome(id = "3, 3", expect = Expect.ACCEPTABLE, desc = "the search found every block")
  @Outcome(expect = Expect.FORBIDDEN, desc = "the search missed blocks that were held throughout")
  @State
  public static class SearchBesideRemove extends Fixture {
    public SearchBesideRemove() {
      store(first, A);
      store(second, A);
    }

    @Actor
    public void removeAndStoreAnother() {
      second.remove(A, A.length, Tier.DEVICE, false);
      store(second, 31, 32, 33);
    }

    @Actor
    public void search(II_Result result) {
      result.r1 = depth(A, 0);
    }

    @Arbiter
    public void read(II_Result result) {
      result.r2 = depth(A, 0);
    }
  }

  /** A prediction placed through the worker's lock while its blocks are written and removed. */
  @JCStressTest
  @Outcome(id = "3, 3", expect = Expect.ACCEPTABLE, desc = "stored and predicted blocks are held")
  @Outcome(expect = Expect.FORBIDDEN, desc = "the prediction was lost")
  @State
  public static class PredictBesideStore extends Fixture {
    @Actor
    public void write() {
      store(first, 41, 42, 43);
    }

    @Actor
    public void predict() {
      first.predict(A, Long.MAX_VALUE);
    }

    @Arbiter
    public void read(II_Result result) {
      result.r1 = depth(new long[] {41, 42, 43}, 0);
      result.r2 = depth(A, 0);
    }
  }
}
