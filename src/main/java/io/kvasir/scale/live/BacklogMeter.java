package io.kvasir.scale.live;

import io.kvasir.admission.ModelBacklog;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.ClusterStatus.CellStatus;
import io.kvasir.cell.UnservedDemand;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The requests of each base model that no worker has: those in the waiting rooms of cells, those that wait at nodes,
 * and the rate of those that were refused. A room whose home does not answer counts as it was. One thread.
 */
final class BacklogMeter {
  /** Refusals are smoothed over so many seconds. */
  private static final double REFUSALS_SECONDS = 60;

  /** Fewer refusals per second than this are none: the last one was some minutes ago. */
  private static final double LEAST_REFUSALS = 1e-3;

  private Map<String, List<ModelBacklog>> rooms = new HashMap<>();
  private Map<String, ModelFigures> models = Map.of();

  /** Those that are in no rate yet, by base model. */
  private Map<String, Integer> refused = new HashMap<>();

  /**
   * What waits for a base model.
   *
   * @param waiting all that do
   * @param typical those that waited before, where none do now: what was given to workers was like them
   * @param countedTokens tokens to be computed, of those that waited when these rates were made
   * @param moreTokensPerSecond by so many they grow; may be negative
   * @param refusedPerSecond requests
   */
  record ModelFigures(
      ModelBacklog waiting, ModelBacklog typical, long countedTokens, double moreTokensPerSecond,
      double refusedPerSecond) {
    private boolean isNothing() {
      return waiting.requests() == 0 && countedTokens == 0 && moreTokensPerSecond == 0 && refusedPerSecond == 0;
    }
  }

  /**
   * Those of all models for which there are any.
   *
   * @param elapsed seconds since the last time that rates were made, infinite the first time; NaN where they are to
   *     stay as they were
   * @param baseModel of a model that requests name
   */
  Map<String, ModelFigures> measure(
      double elapsed, ClusterStatus cluster, UnservedDemand unserved, UnaryOperator<String> baseModel) {
    Map<String, List<ModelBacklog>> now = new HashMap<>();
    for (CellStatus cell : cluster.cells()) {
      now.put(
          cell.name(), cell.home() == null ? rooms.getOrDefault(cell.name(), List.of()) : cell.waiting().models());
    }
    rooms = now;
    Map<String, ModelBacklog> waiting = new HashMap<>();
    rooms.values().forEach(room -> addTo(waiting, room, baseModel));
    addTo(waiting, unserved.waiting(), baseModel);
    unserved.refused().forEach((model, count) -> refused.merge(baseModel.apply(model), count, Integer::sum));
    Set<String> names = new TreeSet<>(models.keySet());
    names.addAll(waiting.keySet());
    names.addAll(refused.keySet());
    Map<String, ModelFigures> found = new HashMap<>();
    for (String name : names) {
      ModelFigures figures =
          figures(
              models.get(name), waiting.getOrDefault(name, new ModelBacklog(name, 0, 0, 0, 0, 0)),
              refused.getOrDefault(name, 0), elapsed);
      if (!figures.isNothing()) {
        found.put(name, figures);
      }
    }
    models = found;
    if (!Double.isNaN(elapsed)) {
      refused = new HashMap<>();
    }
    return found;
  }

  private static ModelFigures figures(
      @Nullable ModelFigures before, ModelBacklog waiting, int refused, double elapsed) {
    if (Double.isNaN(elapsed)) {
      return before == null
          ? new ModelFigures(waiting, waiting, 0, 0, 0)
          : new ModelFigures(
              waiting, typical(before, waiting), before.countedTokens, before.moreTokensPerSecond,
              before.refusedPerSecond);
    }
    double kept = Math.exp(-elapsed / REFUSALS_SECONDS);
    double rate = (before == null ? 0 : before.refusedPerSecond * kept) + (1 - kept) * refused / elapsed;
    long tokensBefore = before == null ? 0 : before.countedTokens;
    return new ModelFigures(
        waiting, typical(before, waiting), waiting.tokens(), (waiting.tokens() - tokensBefore) / elapsed,
        rate < LEAST_REFUSALS ? 0 : rate);
  }

  private static ModelBacklog typical(@Nullable ModelFigures before, ModelBacklog waiting) {
    return waiting.tokens() > 0 || before == null ? waiting : before.typical;
  }

  private static void addTo(
      Map<String, ModelBacklog> all, List<ModelBacklog> some, UnaryOperator<String> baseModel) {
    for (ModelBacklog one : some) {
      all.merge(baseModel.apply(one.model()), one, ModelBacklog::and);
    }
  }
}
