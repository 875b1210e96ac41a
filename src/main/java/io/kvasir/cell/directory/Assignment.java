package io.kvasir.cell.directory;

import io.kvasir.cell.PodSpec;
import io.kvasir.routing.KvTransfer.Island;
import io.kvasir.routing.Role;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
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
  private static final Comparator<Pod> EARLIEST =
      Comparator.comparingLong((Pod pod) -> pod.turn()).thenComparing(Pod::name);

  private final String group;
  private final int most;
  private final List<Pod> pods = new ArrayList<>();
  private final long turn;
  private final Map<Kind, Tally> kinds = new HashMap<>();
  private final Map<Team, Tally> teams = new HashMap<>();
  private final Map<String, Cell> cells = new TreeMap<>();

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
  private record Team(Kind kind, Role role) {}

  /** Slots of a kind or a team, and where cells count theirs. */
  private static final class Tally {
    final int number;
    int slots;

    Tally(int number) {
      this.number = number;
    }
  }

  /** A pod with whom it belongs to. */
  private record Pod(PodEntry entry, Team team, Tally ofTeam, Tally ofKind) {
    String name() {
      return entry.spec().name();
    }

    int slots() {
      return entry.spec().ranks();
    }

    long turn() {
      return entry.placement() == null ? 0 : entry.placement().turn();
    }

    Pod in(Placement placement) {
      return new Pod(entry.in(placement), team, ofTeam, ofKind);
    }
  }

  /** A cell and who is in it. */
  private final class Cell {
    final String name;
    final int number;
    final List<Pod> pods = new ArrayList<>();
    final int[] ofTeam = new int[teams.size()];
    final int[] ofKind = new int[kinds.size()];
    final Map<Role, Integer> ofRole = new EnumMap<>(Role.class);
    int taken;

    Cell(String name, int number) {
      this.name = name;
      this.number = number;
    }

    void take(Pod pod) {
      pods.add(pod);
      count(pod, pod.slots());
    }

    void lose(Pod pod) {
      pods.remove(pod);
      count(pod, -pod.slots());
    }

    private void count(Pod pod, int slots) {
      taken += slots;
      ofTeam[pod.ofTeam().number] += slots;
      ofKind[pod.ofKind().number] += slots;
      ofRole.merge(pod.team().role(), slots, Integer::sum);
    }

    boolean hasRoomFor(Pod pod) {
      return taken == 0 || taken + pod.slots() <= most;
    }

    /** Leaves room for those that a prefill or decode worker needs beside it, whoever comes first. */
    boolean keepsRoomBeside(Pod pod) {
      Role role = pod.team().role();
      int has = ofRole.getOrDefault(role, 0);
      return role == Role.BOTH || has == 0 || has + pod.slots() <= most * 3 / 4;
    }

    boolean has(Team team) {
      Tally tally = teams.get(team);
      return tally != null && ofTeam[tally.number] > 0;
    }

    List<Pod> pods(@Nullable Island island, Role role) {
      return pods.stream()
          .filter(pod -> pod.team().role() == role && Objects.equals(pod.team().kind().island(), island))
          .toList();
    }
  }

  private Assignment(String group, List<PodEntry> entries, int most) {
    this.group = group;
    this.most = most;
    long latest = 0;
    for (PodEntry entry : entries) {
      Kind kind = Kind.of(entry.spec());
      Team team = new Team(kind, entry.spec().role());
      Tally ofKind = kinds.computeIfAbsent(kind, _ -> new Tally(kinds.size()));
      Tally ofTeam = teams.computeIfAbsent(team, _ -> new Tally(teams.size()));
      Pod pod = new Pod(entry, team, ofTeam, ofKind);
      ofKind.slots += pod.slots();
      ofTeam.slots += pod.slots();
      pods.add(pod);
      latest = Math.max(latest, pod.turn());
    }
    this.turn = latest + 1;
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
    List<Pod> homeless = settle();
    if (!homeless.isEmpty()) {
      int slots = pods.stream().mapToInt(Pod::slots).sum();
      while (cells.size() < Math.ceilDiv(slots, most)) {
        open();
      }
      homeless.sort(
          Comparator.comparing((Pod pod) -> pod.team().kind().order())
              .thenComparing(pod -> pod.team().role())
              .thenComparing(Pod::name));
      homeless.forEach(this::place);
    }
    while (mend()) {
      // One pod at a time.
    }
    for (Cell cell : cells.values()) {
      cell.pods.forEach(pod -> placed.put(pod.name(), pod.entry()));
    }
  }

  /** Leaves everybody where he is, as far as there is room; returns the others. */
  private List<Pod> settle() {
    List<Pod> homeless = new ArrayList<>();
    pods.sort(EARLIEST);
    for (Pod pod : pods) {
      Placement placement = pod.entry().placement();
      if (placement == null || !placement.isOf(group)) {
        homeless.add(pod);
        continue;
      }
      Cell cell = cells.computeIfAbsent(placement.cell(), name -> new Cell(name, number(name)));
      if (cell.hasRoomFor(pod)) {
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

  /** Where its team has less than its share; then where most of its kind are; then where there is most room. */
  private void place(Pod pod) {
    int share = share(pod);
    int team = pod.ofTeam().number;
    int kind = pod.ofKind().number;
    Cell best =
        cells.values().stream()
            .filter(cell -> cell.hasRoomFor(pod) && cell.keepsRoomBeside(pod))
            .min(
                Comparator.comparingInt((Cell cell) -> cell.ofTeam[team] < share ? 0 : 1 + cell.ofTeam[team])
                    .thenComparingInt(cell -> -cell.ofKind[kind])
                    .thenComparingInt(cell -> cell.taken)
                    .thenComparingInt(cell -> cell.number))
            .orElseGet(this::open);
    best.take(pod.in(new Placement(best.name, turn)));
  }

  /** Slots each of the cells that a pod's kind needs, or already has, should have of its team at least. */
  private int share(Pod pod) {
    int kind = pod.ofKind().number;
    int has = 0;
    for (Cell cell : cells.values()) {
      has += cell.ofKind[kind] > 0 ? 1 : 0;
    }
    return pod.ofTeam().slots / Math.max(has, Math.ceilDiv(pod.ofKind().slots, most));
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
    List<Team> inOrder =
        teams.keySet().stream()
            .sorted(Comparator.comparing((Team team) -> team.kind().order()).thenComparing(Team::role))
            .toList();
    for (Cell cell : cells.values()) {
      for (Team team : inOrder) {
        Role partner =
            switch (team.role()) {
              case PREFILL -> Role.DECODE;
              case DECODE -> Role.PREFILL;
              case ENCODE, BOTH -> null;
            };
        Island island = team.kind().island();
        if (partner != null
            && cell.has(team)
            && cell.pods(island, partner).isEmpty()
            && bring(cell, island, partner)) {
          return true;
        }
      }
    }
    return false;
  }

  private boolean bring(Cell cell, @Nullable Island island, Role role) {
    List<Pod> several = List.of();
    Cell giver = cell;
    for (Cell other : cells.values()) {
      List<Pod> there = other.pods(island, role);
      if (there.size() > Math.max(1, several.size())) {
        several = there;
        giver = other;
      }
    }
    Pod latest = several.stream().max(EARLIEST).orElse(null);
    if (latest == null || !cell.hasRoomFor(latest)) {
      return false;
    }
    giver.lose(latest);
    cell.take(latest.in(new Placement(cell.name, turn)));
    return true;
  }
}
