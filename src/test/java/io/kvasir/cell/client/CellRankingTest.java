package io.kvasir.cell.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class CellRankingTest {
  private static final int KEYS = 20_000;

  @Test
  void oneCell_isEverybodys() {
    CellRanking ranking = ranking(cells(1));
    for (long key = 0; key < 100; key++) {
      assertThat(first(ranking, key)).isEqualTo("m1");
    }
  }

  @Test
  void ranksAreDifferentCells_asFarAsThereAreSoMany() {
    for (int count : new int[] {2, 3, 4, 50}) {
      CellRanking ranking = ranking(cells(count));
      for (long key = 0; key < 500; key++) {
        Set<Integer> ranks = new HashSet<>();
        for (int rank = 0; rank < CellRanking.RANKS; rank++) {
          ranks.add(CellRanking.at(ranking.order(key), rank));
        }
        assertThat(ranks).hasSize(Math.min(count, CellRanking.RANKS));
      }
    }
  }

  @Test
  void keysSpreadInProportionToWorkers() {
    Map<String, Integer> cells = new LinkedHashMap<>(Map.of("a", 256));
    cells.put("b", 128);
    cells.put("c", 16);
    cells.put("without", 0);
    Map<String, Integer> keys = new HashMap<>();
    CellRanking ranking = ranking(cells);
    for (long key = 0; key < KEYS; key++) {
      keys.merge(first(ranking, key), 1, Integer::sum);
    }
    assertThat(keys).containsOnlyKeys("a", "b", "c");
    assertThat(keys.get("a")).isBetween(KEYS * 60 / 100, KEYS * 68 / 100);
    assertThat(keys.get("b")).isBetween(KEYS * 29 / 100, KEYS * 35 / 100);
    assertThat(keys.get("c")).isBetween(KEYS * 3 / 100, KEYS * 5 / 100);
  }

  @Test
  void cellComesOrGoes_onlyItsKeysMove() {
    CellRanking with = ranking(cells(10));
    CellRanking without = ranking(cells(9));
    int moved = 0;
    for (long key = 0; key < KEYS; key++) {
      String before = first(with, key);
      String after = first(without, key);
      if (before.equals("m10")) {
        moved++;
        assertThat(after).as("the next of its order").isEqualTo(with.name(CellRanking.at(with.order(key), 1)));
      } else {
        assertThat(after).isEqualTo(before);
      }
    }
    assertThat(moved).isBetween(KEYS * 8 / 100, KEYS * 12 / 100);
  }

  @Test
  void workerMoreOrLess_fewKeysMove() {
    Map<String, Integer> more = cells(10);
    more.put("m3", 216);
    CellRanking before = ranking(cells(10));
    CellRanking after = ranking(more);
    int moved = 0;
    for (long key = 0; key < KEYS; key++) {
      if (!first(before, key).equals(first(after, key))) {
        moved++;
        assertThat(first(after, key)).isEqualTo("m3");
      }
    }
    assertThat(moved).isLessThan(KEYS * 2 / 100);
  }

  @Test
  void remembered_isWhatWouldBeWorkedOut() {
    CellRanking.WeightedCells cells = CellRanking.WeightedCells.of(cells(30));
    CellRanking remembering = new CellRanking(cells, new long[CellRanking.BUCKETS]);
    CellRanking working = new CellRanking(cells, null);
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 1000; i++) {
      long key = random.nextLong();
      assertThat(remembering.order(key)).isEqualTo(working.order(key));
      assertThat(remembering.order(key)).isEqualTo(working.order(key));
    }
  }

  /** Nodes of different versions and machines have to agree: these may not change. */
  @Test
  void orders_areWhatTheyAlwaysWere() {
    CellRanking ranking = ranking(cells(5));
    StringBuilder orders = new StringBuilder();
    for (long key = 0; key < 8; key++) {
      orders.append(Long.toHexString(ranking.order(key))).append(' ');
    }
    assertThat(orders.toString().strip()).isEqualTo(
        "300040002 1000200000004 2000400030001 100020003 3000000020001 200030001 3000400000001 400010002");
  }

  private static String first(CellRanking ranking, long key) {
    return ranking.name(CellRanking.at(ranking.order(key), 0));
  }

  private static CellRanking ranking(Map<String, Integer> cells) {
    return new CellRanking(CellRanking.WeightedCells.of(cells), new long[CellRanking.BUCKETS]);
  }

  private static Map<String, Integer> cells(int count) {
    Map<String, Integer> cells = new LinkedHashMap<>();
    for (int i = 1; i <= count; i++) {
      cells.put("m" + i, 200);
    }
    return cells;
  }
}
