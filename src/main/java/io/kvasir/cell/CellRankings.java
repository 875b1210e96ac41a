package io.kvasir.cell;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The ranking of the cells of each model of a roster. What is remembered of a ranking outlives a roster that does not
 * change it. Thread-safe.
 */
final class CellRankings {
  /** Sets of cells whose orders are remembered: 32 MiB at most, however many adapters have cells of their own. */
  private static final int MOST_REMEMBERED = 64;

  private volatile Ranked ranked = new Ranked(Roster.EMPTY, Map.of());

  private static final class Ranked {
    final Roster roster;
    final Map<String, CellRanking> byModel = new ConcurrentHashMap<>();
    final Map<CellRanking.Cells, long[]> remembered = new ConcurrentHashMap<>();
    final Map<CellRanking.Cells, long[]> before;

    Ranked(Roster roster, Map<CellRanking.Cells, long[]> before) {
      this.roster = roster;
      this.before = before;
    }

    @Nullable CellRanking rank(String model) {
      Map<String, Integer> cells = roster.cellsOf(model);
      if (cells.isEmpty()) {
        return null;
      }
      CellRanking.Cells ranked = CellRanking.Cells.of(cells);
      return new CellRanking(ranked, ranked.names().size() == 1 ? null : remembered(ranked));
    }

    private long @Nullable [] remembered(CellRanking.Cells cells) {
      boolean room = remembered.size() < MOST_REMEMBERED;
      return remembered.computeIfAbsent(
          cells,
          same -> {
            long[] known = before.get(same);
            return known == null && room ? new long[CellRanking.BUCKETS] : known;
          });
    }
  }

  /** The cells of a model, null when none serves it. */
  @Nullable CellRanking of(Roster roster, String model) {
    Ranked now = ranked;
    if (now.roster != roster) {
      now = renew(roster);
    }
    CellRanking known = now.byModel.get(model);
    return known == null ? now.byModel.computeIfAbsent(model, now::rank) : known;
  }

  private synchronized Ranked renew(Roster roster) {
    if (ranked.roster != roster) {
      ranked = new Ranked(roster, ranked.remembered);
    }
    return ranked;
  }
}
