package io.kvasir.cell.client;

import io.kvasir.routing.Hashing;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The order in which a key prefers cells: rendezvous hashing, each cell weighted with its workers. All nodes compute
 * the same order, and a cell that is added or removed takes or gives only the keys that it must. Keys fall into
 * {@value #BUCKETS} buckets; the order of each is computed at its first use and then kept, so a look-up costs the same
 * however many cells there are. Thread-safe.
 */
public final class CellRanking {
  /** How many cells of a key's order are kept. */
  static final int RANKS = 4;

  /** The same for any number of cells, as other buckets would be another order. 512 KiB remember all of them. */
  static final int BUCKETS = 1 << 16;

  private static final int BITS = 16;
  private static final int MASK = (1 << BITS) - 1;
  private static final VarHandle ROWS = MethodHandles.arrayElementVarHandle(long[].class);

  private final WeightedCells cells;
  private final long[] hashes;
  private final long @Nullable [] rows;

  /**
   * What the order depends on.
   *
   * @param names at most 65,536, each once
   * @param weights of the same cells
   */
  record WeightedCells(List<String> names, List<Integer> weights) {
    /** The cells of a map from name to workers; those without any are preferred by no key while others have some. */
    static WeightedCells of(Map<String, Integer> workers) {
      List<String> names = new ArrayList<>();
      List<Integer> weights = new ArrayList<>();
      workers.forEach((name, count) -> {
        if (count > 0) {
          names.add(name);
          weights.add(weight(count));
        }
      });
      return names.isEmpty() && !workers.isEmpty()
          ? new WeightedCells(List.copyOf(workers.keySet()), workers.keySet().stream().map(_ -> 1).toList())
          : new WeightedCells(List.copyOf(names), List.copyOf(weights));
    }

    /** Rounded to four binary digits: so a worker more or less seldom moves any keys. */
    private static int weight(int workers) {
      int unit = Math.max(1, Integer.highestOneBit(workers) >>> 3);
      return (workers + unit / 2) / unit * unit;
    }
  }

  /**
   * A ranking.
   *
   * @param rows where orders are remembered, {@link #BUCKETS} long and used for these cells alone; null to work each
   *     of them out again and again
   */
  CellRanking(WeightedCells cells, long @Nullable [] rows) {
    this.cells = cells;
    this.hashes = cells.names().stream().mapToLong(name -> Hashing.mix(Hashing.of(name))).toArray();
    this.rows = rows;
  }

  /** Number of cells. */
  int size() {
    return hashes.length;
  }

  /** Name of a cell by its number, 0 to {@link #size()} - 1. */
  String name(int cell) {
    return cells.names().get(cell);
  }

  /** A key's order, for {@link #at}. Does not allocate. */
  long order(long key) {
    if (hashes.length == 1) {
      return 0;
    }
    int bucket = (int) (Hashing.mix(key) >>> (Long.SIZE - BITS));
    long[] remembered = rows;
    if (remembered == null) {
      return compute(bucket);
    }
    long row = (long) ROWS.getOpaque(remembered, bucket);
    if (row == 0) {
      row = compute(bucket);
      ROWS.setOpaque(remembered, bucket, row);
    }
    return row;
  }

  /** The cell at a rank of an order, 0 to {@link #RANKS} - 1; the last one again where there are not so many. */
  static int at(long order, int rank) {
    return (int) (order >>> (rank * BITS)) & MASK;
  }

  /** Never 0 with more than one cell: the first two differ. */
  private long compute(int bucket) {
    long salt = Hashing.mix(bucket + 1L);
    int[] best = new int[RANKS];
    double[] distance = new double[RANKS];
    Arrays.fill(distance, Double.POSITIVE_INFINITY);
    for (int cell = 0; cell < hashes.length; cell++) {
      double far = distance(Hashing.mix(salt ^ hashes[cell]), cells.weights().get(cell));
      int rank = RANKS;
      while (rank > 0 && far < distance[rank - 1]) {
        rank--;
      }
      if (rank < RANKS) {
        System.arraycopy(best, rank, best, rank + 1, RANKS - 1 - rank);
        System.arraycopy(distance, rank, distance, rank + 1, RANKS - 1 - rank);
        best[rank] = cell;
        distance[rank] = far;
      }
    }
    long order = 0;
    for (int rank = RANKS - 1; rank >= 0; rank--) {
      order = order << BITS | best[Math.min(rank, hashes.length - 1)];
    }
    return order;
  }

  /** Exponentially distributed, so that the nearest of several is one with a chance in proportion to its weight. */
  private static double distance(long hash, int weight) {
    double uniform = ((hash >>> 11) + 0.5) * 0x1p-53;
    // Strict, so that nodes on different machines agree.
    return -StrictMath.log(uniform) / weight;
  }
}
