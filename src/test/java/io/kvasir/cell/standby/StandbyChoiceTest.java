package io.kvasir.cell.standby;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.directory.CellNodes;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class StandbyChoiceTest {
  private static SortedMap<String, String> nodes(String... nodesAndZones) {
    SortedMap<String, String> nodes = new TreeMap<>();
    for (int i = 0; i < nodesAndZones.length; i += 2) {
      nodes.put(nodesAndZones[i], nodesAndZones[i + 1]);
    }
    return nodes;
  }

  @Test
  void alone_none() {
    assertThat(StandbyChoice.of("c", "a", List.of(), Map.of(), nodes("a", ""), 1)).isEmpty();
  }

  @Test
  void whoHasIt_keepsIt_whileItIsThere() {
    SortedMap<String, String> nodes = nodes("a", "", "b", "", "c", "", "d", "");
    List<String> chosen = StandbyChoice.of("c", "a", List.of("d"), Map.of(), nodes, 1);
    assertThat(chosen).containsExactly("d");
    nodes.remove("d");
    assertThat(StandbyChoice.of("c", "a", chosen, Map.of(), nodes, 1)).hasSize(1).doesNotContain("a", "d");
    assertThat(StandbyChoice.of("c", "b", List.of("b"), Map.of(), nodes, 2)).containsExactlyInAnyOrder("a", "c");
  }

  @Test
  void otherZone_beforeFewestCopies() {
    Map<String, CellNodes> all = Map.of("other", new CellNodes("a", List.of("far"), Set.of(), null, 0));
    assertThat(
            StandbyChoice.of("c", "a", List.of(), all, nodes("a", "east", "near", "east", "far", "west"), 1))
        .containsExactly("far");
    assertThat(StandbyChoice.of("c", "a", List.of(), all, nodes("a", "", "near", "", "far", ""), 1))
        .containsExactly("near");
  }

  /** Cells that choose one after the other, each knowing of those before. */
  @Test
  void manyCells_spreadEvenly() {
    SortedMap<String, String> nodes = nodes("a", "", "b", "", "c", "", "d", "");
    Map<String, CellNodes> all = new HashMap<>();
    IntStream.range(0, 90).forEach(i -> {
      List<String> chosen = StandbyChoice.of("cell-" + i, "a", List.of(), all, nodes, 1);
      assertThat(chosen).isEqualTo(StandbyChoice.of("cell-" + i, "a", List.of(), Map.copyOf(all), nodes, 1));
      all.put("cell-" + i, new CellNodes("a", chosen, Set.of(), null, 0));
    });
    for (String node : List.of("b", "c", "d")) {
      assertThat(all.values().stream().filter(cell -> cell.standbys().contains(node))).hasSize(30);
    }
  }
}
