package io.kvasir.cell;

import io.kvasir.routing.KvTransfer.Island;
import io.kvasir.routing.Role;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Gives pods their cells, from the replicated entries alone: every node comes to the same result. Whoever has a cell
 * keeps it, unless it is of another model group by now or has more workers than a cell may have; then the latest of
 * them leave. Those without a cell go where their own kind is: pods that hand KV blocks to each other, pods of one
 * zone. A model group has as many cells as its workers need, and where engines divide the work, prefill and decode
 * workers meet in each of them. A pod's ranks stay together, even if there are more of them than a cell may have.
 *
 * <p>Doing it again with what came of it changes nothing.
 */
final class Assignment {
  private static final Comparator<PodEntry> EARLIEST =
      Comparator.comparingLong(Assignment::turn).thenComparing(pod -> pod.spec().name());

  private final String group;
  private final int most;
  private final List<PodEntry> pods;
  private final long turn;
  private final Map<String, Cell> cells = new TreeMap<>();
  private final Map<Kind, Integer> slotsOfKind = new HashMap<>();
  private final Map<Team, Integer> slotsOfTeam = new HashMap<>();

  /** Pods that belong together: that can hand over to each other, in one zone. */
  private record Kind(@Nullable Island island, String zone) {
    static Kind of(PodSpec pod) {
      return new Kind(
          pod.kvTransfer() == null ? null : pod.kvTransfer().island(), pod.labels().getOrDefault("zone", ""));
    }

    String order() {
      return zone + " " + (island == null ? "" : island.dialect().name() + " " + island.group());
    }
  }

  /** Those of a kind that do the same work. */
  private record Team(Kind kind, Role role) {
    static Team of(PodSpec pod) {
      return new Team(Kind.of(pod), pod.role());
    }
  }

  /** A cell and who is in it. */
  private static final class Cell {
    final String name;
    final int number;
    final List<PodEntry> pods = new ArrayList<>();
    final Map<Team, Integer> slots = new HashMap<>();
    int taken;

    Cell(String name, int number) {
      this.name = name;
      this.number = number;
    }

    void take(PodEntry pod) {
      pods.add(pod);
      taken += pod.spec().ranks();
      slots.merge(Team.of(pod.spec()), pod.spec().ranks(), Integer::sum);
    }

    void lose(PodEntry pod) {
      pods.remove(pod);
      taken -= pod.spec().ranks();
      slots.merge(Team.of(pod.spec()), -pod.spec().ranks(), Integer::sum);
    }

    int slots(Team team) {
      return slots.getOrDefault(team, 0);
    }

    int slots(Kind kind) {
      int sum = 0;
      for (Role role : Role.values()) {
        sum += slots(new Team(kind, role));
      }
      return sum;
    }

    int slots(Role role) {
      int sum = 0;
      for (Map.Entry<Team, Integer> team : slots.entrySet()) {
        sum += team.getKey().role() == role ? team.getValue() : 0;
      }
      return sum;
    }

    /** Who is there, in an order that is the same everywhere. */
    List<Team> teams() {
      return slots.entrySet().stream()
          .filter(team -> team.getValue() > 0)
          .map(Map.Entry::getKey)
          .sorted(Comparator.comparing((Team team) -> team.kind().order()).thenComparing(Team::role))
          .toList();
    }

    List<PodEntry> pods(@Nullable Island island, Role role) {
      return pods.stream()
          .filter(pod -> pod.spec().role() == role && Objects.equals(Kind.of(pod.spec()).island(), island))
          .toList();
    }
  }

  private Assignment(String group, List<PodEntry> pods, int most) {
    this.group = group;
    this.most = most;
    this.pods = pods;
    this.turn = 1 + pods.stream().mapToLong(Assignment::turn).max().orElse(0);
    for (PodEntry pod : pods) {
      slotsOfKind.merge(Kind.of(pod.spec()), pod.spec().ranks(), Integer::sum);
      slotsOfTeam.merge(Team.of(pod.spec()), pod.spec().ranks(), Integer::sum);
    }
  }

  private static long turn(PodEntry pod) {
    return pod.placement() == null ? 0 : pod.placement().turn();
  }

  /**
   * The same pods, each with a placement.
   *
   * @param most workers a cell may have
   */
  static Map<String, PodEntry> of(Map<String, PodEntry> pods, int most) {
    Map<String, List<PodEntry>> groups = new TreeMap<>();
    pods.values().forEach(pod -> groups.computeIfAbsent(pod.group(), _ -> new ArrayList<>()).add(pod));
    Map<String, PodEntry> placed = new HashMap<>();
    groups.forEach((group, members) -> new Assignment(group, members, most).into(placed));
    return placed;
  }

  private void into(Map<String, PodEntry> placed) {
    List<PodEntry> homeless = settle();
    if (!homeless.isEmpty()) {
      int slots = pods.stream().mapToInt(pod -> pod.spec().ranks()).sum();
      while (cells.size() < Math.ceilDiv(slots, most)) {
        open();
      }
      homeless.sort(
          Comparator.comparing((PodEntry pod) -> Kind.of(pod.spec()).order())
              .thenComparing(pod -> pod.spec().role())
              .thenComparing(pod -> pod.spec().name()));
      homeless.forEach(this::place);
    }
    while (mend()) {
      // One pod at a time.
    }
    for (Cell cell : cells.values()) {
      cell.pods.forEach(pod -> placed.put(pod.spec().name(), pod));
    }
  }

  /** Leaves everybody where he is, as far as there is room; returns the others. */
  private List<PodEntry> settle() {
    List<PodEntry> homeless = new ArrayList<>();
    for (PodEntry pod : pods.stream().sorted(EARLIEST).toList()) {
      Placement placement = pod.placement();
      if (placement == null || !placement.isOf(group)) {
        homeless.add(pod);
        continue;
      }
      Cell cell = cells.computeIfAbsent(placement.cell(), name -> new Cell(name, number(name)));
      if (hasRoom(cell, pod)) {
        cell.take(pod);
      } else {
        homeless.add(pod);
      }
    }
    return homeless;
  }

  private int number(String cell) {
    return cell.equals(group) ? 1 : Integer.parseInt(cell.substring(group.length() + 1));
  }

  private boolean hasRoom(Cell cell, PodEntry pod) {
    return cell.taken == 0 || cell.taken + pod.spec().ranks() <= most;
  }

  /** Leaves room for those that a prefill or decode worker needs beside it, whoever comes first. */
  private boolean leavesRoom(Cell cell, PodEntry pod) {
    Role role = pod.spec().role();
    return role == Role.BOTH
        || cell.slots(role) == 0
        || cell.slots(role) + pod.spec().ranks() <= most * 3 / 4;
  }

  private void place(PodEntry pod) {
    Team team = Team.of(pod.spec());
    int share = share(team);
    Cell best =
        cells.values().stream()
            .filter(cell -> hasRoom(cell, pod) && leavesRoom(cell, pod))
            .min(
                Comparator.comparingInt((Cell cell) -> cell.slots(team) < share ? 0 : 1 + cell.slots(team))
                    .thenComparingInt(cell -> -cell.slots(team.kind()))
                    .thenComparingInt(cell -> cell.taken)
                    .thenComparingInt(cell -> cell.number))
            .orElseGet(this::open);
    best.take(pod.in(new Placement(best.name, turn)));
  }

  /** Slots each of the cells that a kind needs, or already has, should have of a team at least. */
  private int share(Team team) {
    long has = cells.values().stream().filter(cell -> cell.slots(team.kind()) > 0).count();
    int needs = Math.ceilDiv(slotsOfKind.getOrDefault(team.kind(), 0), most);
    return slotsOfTeam.getOrDefault(team, 0) / (int) Math.max(has, needs);
  }

  private Cell open() {
    int number = 1;
    while (cells.containsKey(Placement.cell(group, number))) {
      number++;
    }
    Cell opened = new Cell(Placement.cell(group, number), number);
    cells.put(opened.name, opened);
    return opened;
  }

  /** Brings prefill or decode workers that have no partner in their cell one from a cell that has several. */
  private boolean mend() {
    for (Cell cell : cells.values()) {
      for (Team team : cell.teams()) {
        Role partner =
            switch (team.role()) {
              case PREFILL -> Role.DECODE;
              case DECODE -> Role.PREFILL;
              case ENCODE, BOTH -> null;
            };
        Island island = team.kind().island();
        if (partner != null && cell.pods(island, partner).isEmpty() && bring(cell, island, partner)) {
          return true;
        }
      }
    }
    return false;
  }

  private boolean bring(Cell cell, @Nullable Island island, Role role) {
    Cell giver = null;
    int has = 1;
    for (Cell other : cells.values()) {
      int others = other.pods(island, role).size();
      if (others > has) {
        giver = other;
        has = others;
      }
    }
    if (giver == null) {
      return false;
    }
    PodEntry latest = giver.pods(island, role).stream().max(EARLIEST).orElseThrow();
    if (!hasRoom(cell, latest)) {
      return false;
    }
    giver.lose(latest);
    cell.take(latest.in(new Placement(cell.name, turn)));
    return true;
  }
}
