package io.kvasir.cell.directory;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.TestPods;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Role;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class AssignmentTest {
  private static final int MOST = 8;

  @Test
  void asManyCellsAsItNeeds_evenlyFilled() {
    Map<String, PodEntry> placed = Assignment.of(entries(pods(20, Role.BOTH, "")), MOST);
    assertThat(sizes(placed)).isEqualTo(Map.of("m", 7, "m~2", 7, "m~3", 6));
  }

  @Test
  void podsOfOneZone_areTogether() {
    List<PodSpec> pods = new ArrayList<>(pods(6, Role.BOTH, "a"));
    pods.addAll(pods(6, Role.BOTH, "b"));
    Map<String, PodEntry> placed = Assignment.of(entries(pods), MOST);
    assertThat(cellsBy(placed, pod -> pod.labels().get("zone")).values()).allMatch(cells -> cells.size() == 1);
    assertThat(sizes(placed)).hasSize(2);
    Map<String, PodEntry> more = Assignment.of(with(placed, pod("late", Role.BOTH, "b", 1)), MOST);
    assertThat(cell(more, "late")).isEqualTo(cell(more, "BOTH-b-0"));
  }

  @Test
  void ranksOfAPod_stayTogether_evenIfTheyAreMoreThanACellMayHave() {
    Map<String, PodEntry> placed =
        Assignment.of(
            entries(List.of(pod("x", Role.BOTH, "", 20), pod("y", Role.BOTH, "", 5), pod("z", Role.BOTH, "", 5))),
            MOST);
    assertThat(sizes(placed)).hasSize(3);
  }

  @Test
  void prefillAndDecode_meetInEachCell_inTheProportionOfTheFleet() {
    List<PodSpec> pods = new ArrayList<>(pods(20, Role.PREFILL, "a"));
    pods.addAll(pods(10, Role.DECODE, "a"));
    Map<String, Map<Role, Integer>> roles = roles(Assignment.of(entries(pods), MOST));
    assertThat(roles).hasSize(4);
    assertThat(roles.values())
        .allSatisfy(cell -> {
          assertThat(cell.get(Role.PREFILL)).isBetween(4, 6);
          assertThat(cell.get(Role.DECODE)).isBetween(2, 3);
        });
  }

  /** However they come: one by one, and all of one kind first. */
  @Test
  void prefillFirstThenDecode_oneByOne_everyCellHasBoth() {
    Map<String, PodEntry> placed = Map.of();
    for (PodSpec pod : pods(20, Role.PREFILL, "")) {
      placed = Assignment.of(with(placed, pod), MOST);
    }
    for (PodSpec pod : pods(6, Role.DECODE, "")) {
      placed = Assignment.of(with(placed, pod), MOST);
    }
    assertThat(roles(placed).values()).allMatch(cell -> cell.keySet().containsAll(List.of(Role.PREFILL, Role.DECODE)));
  }

  @Test
  void podsThatCannotHandOverToEachOther_areNoPartners() {
    Map<String, PodEntry> placed = new HashMap<>();
    placed.put("p", in("m", divided("p", Role.PREFILL, "west"), 1));
    placed.put("e", in("m", divided("e", Role.DECODE, "east"), 1));
    placed.put("f", in("m~2", divided("f", Role.DECODE, "west"), 1));
    placed.put("g", in("m~2", divided("g", Role.DECODE, "west"), 2));
    Map<String, PodEntry> mended = Assignment.of(placed, MOST);
    assertThat(cell(mended, "g")).as("the later one joins its partner").isEqualTo("m");
    assertThat(mended.get("f")).isEqualTo(placed.get("f"));
  }

  @Test
  void tooManyForACell_theLatestLeave() {
    Map<String, PodEntry> entries = new HashMap<>();
    for (int i = 0; i < MOST; i++) {
      entries.put("z" + i, in("m", pod("z" + i, Role.BOTH, "", 1), 1));
    }
    entries.put("a", in("m", pod("a", Role.BOTH, "", 1), 2));
    Map<String, PodEntry> placed = Assignment.of(entries, MOST);
    assertThat(cell(placed, "a")).isEqualTo("m~2");
    assertThat(moved(entries, placed)).containsExactly("a");
    placed.remove("z3");
    assertThat(Assignment.of(placed, MOST)).as("room again: nobody returns").isEqualTo(placed);
  }

  @Test
  void otherBaseModel_otherCell() {
    PodSpec was = pod("a", Role.BOTH, "", 1);
    PodSpec is =
        TestPods.pod("a")
            .url(was.url())
            .role(was.role())
            .models(new LinkedHashSet<>(List.of("other", "m")))
            .engine("e")
            .build();
    assertThat(cell(Assignment.of(Map.of("a", in("m~2", is, 1)), MOST), "a")).isEqualTo("other");
  }

  @Test
  void modelsNamedLikeCells_haveCellsOfTheirOwn() {
    assertThat(Placement.cell("m", 1)).isEqualTo("m");
    assertThat(Placement.cell("m", 2)).isEqualTo("m~2");
    assertThat(Placement.cell("m~2", 1)).isEqualTo("m~2~1");
    assertThat(new Placement("m~2", 1).isOf("m")).isTrue();
    assertThat(new Placement("m~2", 1).isOf("m~2")).isFalse();
    assertThat(new Placement("m~2~1", 1).isOf("m~2")).isTrue();
  }

  /** Pods come and go on two nodes that hear of each other's changes now and then only. */
  @Test
  void whateverHappens_cellsAreWithinBounds_nodesAgree_andFewMove() {
    for (int seed = 0; seed < 60; seed++) {
      Random random = new Random(seed);
      boolean divided = seed % 2 == 1;
      Map<String, PodEntry> one = new HashMap<>();
      Map<String, PodEntry> other = new HashMap<>();
      int names = 0;
      for (int step = 0; step < 60; step++) {
        Map<String, PodEntry> node = random.nextBoolean() ? one : other;
        if (random.nextInt(4) == 0 && !node.isEmpty()) {
          List<String> all = new ArrayList<>(new TreeMap<>(node).keySet());
          String gone = all.get(random.nextInt(all.size()));
          one.remove(gone);
          other.remove(gone);
        } else {
          PodSpec pod = random(random, "p" + names++, divided);
          node.put(pod.name(), Objects.requireNonNull(Assignment.of(with(node, pod), MOST).get(pod.name())));
        }
        if (random.nextInt(3) == 0) {
          Map<String, PodEntry> merged = new HashMap<>(one);
          merged.putAll(other);
          Map<String, PodEntry> resolved = Assignment.of(merged, MOST);
          check(merged, resolved, divided, random);
          one = new HashMap<>(resolved);
          other = new HashMap<>(resolved);
        }
      }
    }
  }

  private static void check(
      Map<String, PodEntry> merged, Map<String, PodEntry> resolved, boolean divided, Random random) {
    assertThat(resolved.keySet()).isEqualTo(merged.keySet());
    Map<String, List<PodEntry>> cells =
        resolved.values().stream().collect(Collectors.groupingBy(PodEntry::cell));
    cells.forEach((cell, pods) -> {
      assertThat(pods).as("one group in a cell").extracting(PodEntry::group).containsOnly(pods.getFirst().group());
      assertThat(ranks(pods)).isLessThanOrEqualTo(MOST);
    });
    List<String> shuffled = new ArrayList<>(merged.keySet());
    Collections.shuffle(shuffled, random);
    Map<String, PodEntry> elsewhere = new LinkedHashMap<>();
    shuffled.forEach(name -> elsewhere.put(name, Objects.requireNonNull(merged.get(name))));
    assertThat(Assignment.of(elsewhere, MOST)).as("on another node").isEqualTo(resolved);
    assertThat(Assignment.of(resolved, MOST)).as("once more").isEqualTo(resolved);
    int tooMany =
        merged.values().stream().collect(Collectors.groupingBy(PodEntry::cell)).values().stream()
            .mapToInt(pods -> Math.max(0, ranks(pods) - MOST))
            .sum();
    assertThat(moved(merged, resolved).size()).as("moves").isLessThanOrEqualTo(tooMany + (divided ? cells.size() : 0));
    if (divided) {
      assertThat(cells.values()).allSatisfy(pods -> noPartnerMissing(pods, cells.values()));
    }
  }

  private static void noPartnerMissing(List<PodEntry> cell, Collection<List<PodEntry>> all) {
    boolean alone =
        cell.stream().anyMatch(pod -> pod.spec().role() == Role.PREFILL)
            && cell.stream().noneMatch(pod -> pod.spec().role() == Role.DECODE);
    if (alone && ranks(cell) < MOST) {
      assertThat(all)
          .allSatisfy(
              other -> assertThat(other).filteredOn(pod -> pod.spec().role() == Role.DECODE).hasSizeLessThan(2));
    }
  }

  private static PodSpec random(Random random, String name, boolean divided) {
    if (divided) {
      return divided(name, random.nextInt(3) == 0 ? Role.DECODE : Role.PREFILL, "");
    }
    PodSpec pod = pod(name, Role.BOTH, random.nextBoolean() ? "a" : "b", 1 + random.nextInt(3));
    String model = random.nextBoolean() ? "m" : "n~2";
    return TestPods.pod(name)
        .url(pod.url())
        .models(model)
        .ranks(pod.engine().ranks())
        .labels(pod.labels())
        .engine("e")
        .build();
  }

  private static String cell(Map<String, PodEntry> placed, String pod) {
    return Objects.requireNonNull(placed.get(pod)).cell();
  }

  private static int ranks(List<PodEntry> pods) {
    return pods.stream().mapToInt(pod -> pod.spec().engine().ranks()).sum();
  }

  private static List<String> moved(Map<String, PodEntry> before, Map<String, PodEntry> after) {
    return after.keySet().stream().filter(name -> !cell(before, name).equals(cell(after, name))).toList();
  }

  private static Map<String, Integer> sizes(Map<String, PodEntry> placed) {
    return placed.values().stream()
        .collect(Collectors.groupingBy(PodEntry::cell, Collectors.summingInt(pod -> pod.spec().engine().ranks())));
  }

  private static Map<String, Set<String>> cellsBy(
      Map<String, PodEntry> placed, java.util.function.Function<PodSpec, String> what) {
    return placed.values().stream()
        .collect(
            Collectors.groupingBy(
                pod -> what.apply(pod.spec()), Collectors.mapping(PodEntry::cell, Collectors.toSet())));
  }

  private static Map<String, Map<Role, Integer>> roles(Map<String, PodEntry> placed) {
    return placed.values().stream()
        .collect(
            Collectors.groupingBy(
                PodEntry::cell,
                Collectors.groupingBy(
                    pod -> pod.spec().role(), Collectors.summingInt(pod -> pod.spec().engine().ranks()))));
  }

  private static Map<String, PodEntry> entries(List<PodSpec> pods) {
    Map<String, PodEntry> entries = new HashMap<>();
    pods.forEach(pod -> entries.put(pod.name(), new PodEntry(pod, PodSource.CONFIG)));
    return entries;
  }

  private static Map<String, PodEntry> with(Map<String, PodEntry> entries, PodSpec pod) {
    Map<String, PodEntry> more = new HashMap<>(entries);
    more.put(pod.name(), new PodEntry(pod, PodSource.ADMIN));
    return more;
  }

  private static PodEntry in(String cell, PodSpec pod, long turn) {
    return new PodEntry(pod, PodSource.ADMIN).placedIn(new Placement(cell, turn));
  }

  private static List<PodSpec> pods(int count, Role role, String zone) {
    return IntStream.range(0, count).mapToObj(i -> pod(role + "-" + zone + "-" + i, role, zone, 1)).toList();
  }

  private static PodSpec pod(String name, Role role, String zone, int ranks) {
    return pod(name, role, zone, ranks, null);
  }

  private static PodSpec divided(String name, Role role, String island) {
    return pod(
        name, role, "", 1,
        new KvTransfer(KvTransfer.Dialect.SGLANG, island, "h", 8998, "", 1, 1, new KvTransfer.TransferCost(3, 0.5)));
  }

  private static PodSpec pod(String name, Role role, String zone, int ranks, @Nullable KvTransfer transfer) {
    return TestPods.pod(name)
        .role(role)
        .ranks(ranks)
        .labels(zone.isEmpty() ? Map.of() : Map.of("zone", zone))
        .engine("e")
        .kvTransfer(transfer)
        .build();
  }
}
