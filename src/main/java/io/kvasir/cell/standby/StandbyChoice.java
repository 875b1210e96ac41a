package io.kvasir.cell.standby;

import io.kvasir.cell.directory.CellNodes;
import io.kvasir.routing.Hashing;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;

/**
 * Which nodes hold a cell's copies: those that do already and are still there, then nodes of other zones than the
 * home's, those with the fewest copies first. From the same facts the same nodes.
 */
public final class StandbyChoice {
  private StandbyChoice() {}

  /**
   * Chooses.
   *
   * @param home the cell's home node
   * @param now what it has
   * @param all where every cell is and has its copies
   * @param nodes those that may hold copies, with their zones
   * @param count how many are wanted
   */
  public static List<String> of(
      String cell,
      String home,
      List<String> now,
      Map<String, CellNodes> all,
      SortedMap<String, String> nodes,
      int count) {
    List<String> chosen = new ArrayList<>(now);
    chosen.removeIf(node -> !nodes.containsKey(node) || node.equals(home));
    List<String> others = new ArrayList<>(nodes.keySet());
    others.removeIf(node -> node.equals(home) || chosen.contains(node));
    Map<String, Integer> copies = new HashMap<>();
    all.forEach((other, cellNodes) -> {
      if (!other.equals(cell)) {
        cellNodes.standbys().forEach(node -> copies.merge(node, 1, Integer::sum));
      }
    });
    String zone = nodes.getOrDefault(home, "");
    long hash = Hashing.of(cell);
    others.sort(
        Comparator.<String, Boolean>comparing(node -> !zone.isEmpty() && zone.equals(nodes.get(node)))
            .thenComparingInt(node -> copies.getOrDefault(node, 0))
            .thenComparingLong(node -> Hashing.mix(hash ^ Hashing.of(node))));
    chosen.addAll(others);
    return List.copyOf(chosen.subList(0, Math.min(count, chosen.size())));
  }
}
