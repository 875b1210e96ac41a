package io.kvasir.cell.client;

import io.kvasir.cell.directory.Roster;
import io.kvasir.cell.view.CellMetrics;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The choice among the cells of each model of a roster. What is remembered of a ranking outlives a roster that does not
 * change it. Thread-safe.
 */
final class CellChoices {
  /** Sets of cells whose orders are remembered: 32 MiB at most, however many adapters have cells of their own. */
  private static final int MAX_CACHED = 64;

  private final CellReports reports;
  private final CellMetrics metrics;
  private volatile Ranked ranked = new Ranked(Roster.EMPTY, Map.of());

  private static final class Ranked {
    final Roster roster;
    final Map<String, CellChoice> byModel = new ConcurrentHashMap<>();
    final Map<CellRanking.WeightedCells, long[]> cached = new ConcurrentHashMap<>();
    final Map<CellRanking.WeightedCells, long[]> before;

    Ranked(Roster roster, Map<CellRanking.WeightedCells, long[]> before) {
      this.roster = roster;
      this.before = before;
    }

    @Nullable CellChoice choice(String model, CellReports reports, CellMetrics metrics) {
      Map<String, Integer> workers = roster.cellsOf(model);
      if (workers.isEmpty()) {
        return null;
      }
      CellRanking.WeightedCells cells = CellRanking.WeightedCells.of(workers);
      CellRanking ranking = new CellRanking(cells, cells.names().size() == 1 ? null : cached(cells));
      return new CellChoice(ranking, reports, metrics);
    }

    private long @Nullable [] cached(CellRanking.WeightedCells cells) {
      boolean room = cached.size() < MAX_CACHED;
      return cached.computeIfAbsent(
          cells,
          same -> {
            long[] known = before.get(same);
            return known == null && room ? new long[CellRanking.BUCKETS] : known;
          });
    }
  }

  CellChoices(CellReports reports, CellMetrics metrics) {
    this.reports = reports;
    this.metrics = metrics;
  }

  /** The cells of a model, null when none serves it. */
  @Nullable CellChoice of(Roster roster, String model) {
    Ranked now = ranked;
    Ranked current = now.roster == roster ? now : renew(roster);
    CellChoice known = current.byModel.get(model);
    return known == null
        ? current.byModel.computeIfAbsent(model, name -> current.choice(name, reports, metrics))
        : known;
  }

  private synchronized Ranked renew(Roster roster) {
    if (ranked.roster != roster) {
      ranked = new Ranked(roster, ranked.cached);
    }
    return ranked;
  }
}
