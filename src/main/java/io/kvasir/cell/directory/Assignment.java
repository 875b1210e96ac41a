package io.kvasir.cell.directory;

import io.kvasir.cell.PodSpec;
import io.kvasir.routing.KvTransfer.TransferDomain;
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
 * Assigns pods to cells, from the replicated entries alone: every node comes to the same result. A pod that has a cell
 * keeps it, unless its model group has changed or the cell has more workers than it may have; then the latest pods are
 * moved. Pods without a cell are placed by affinity: with pods that they can exchange KV blocks with, with pods of
 * their zone. A model group has as many cells as its workers need, and where prefill and decode are disaggregated, each
 * cell has workers of both roles. A pod's ranks stay together, even if there are more of them than a cell may have.
 *
 * <p>Idempotent: assigning again from the result changes nothing.
 */
final class Assignment {
  private static final Comparator<GroupedPod> EARLIEST =
      Comparator.comparingLong((GroupedPod pod) -> pod.order()).thenComparing(GroupedPod::name);

  private final String group;
  private final int maxSlots;
  private final List<GroupedPod> pods = new ArrayList<>();
  private final long order;
  private final Map<TransferGroup, SlotCount> transferGroups = new HashMap<>();
  private final Map<RoleGroup, SlotCount> roleGroups = new HashMap<>();
  private final Map<String, CellDraft> cells = new TreeMap<>();

  /** Pods that belong together: that can hand over to each other, in one zone. */
  private record TransferGroup(@Nullable TransferDomain island, String zone) {
    static TransferGroup of(PodSpec pod) {
      return new TransferGroup(
          pod.kvTransfer() == null ? null : pod.kvTransfer().domain(), pod.labels().getOrDefault("zone", ""));
    }

    String order() {
      return zone + " " + (island == null ? "" : island.dialect().name() + " " + island.group());
    }
  }

  /** Those of a kind that do the same work. */
  private record RoleGroup(TransferGroup group, Role role) {}

  /** Slots of a kind or a team, and where cells count theirs. */
  private static final class SlotCount {
    final int number;
    int slots;

    SlotCount(int number) {
      this.number = number;
    }
  }

  /** A pod with its groups. */
  private record GroupedPod(PodEntry entry, RoleGroup roleGroup, SlotCount ofRoleGroup, SlotCount ofGroup) {
    String name() {
      return entry.spec().name();
    }

    int slots() {
      return entry.spec().engine().ranks();
    }

    long order() {
      return entry.placement() == null ? 0 : entry.placement().order();
    }

    GroupedPod placedIn(Placement placement) {
      return new GroupedPod(entry.placedIn(placement), roleGroup, ofRoleGroup, ofGroup);
    }
  }

  /** A cell and who is in it. */
  private final class CellDraft {
    final String name;
    final int number;
    final List<GroupedPod> pods = new ArrayList<>();
    final int[] slotsByRoleGroup = new int[roleGroups.size()];
    final int[] slotsByGroup = new int[transferGroups.size()];
    final Map<Role, Integer> slotsByRole = new EnumMap<>(Role.class);
    int taken;

    CellDraft(String name, int number) {
      this.name = name;
      this.number = number;
    }

    void add(GroupedPod pod) {
      pods.add(pod);
      count(pod, pod.slots());
    }

    void remove(GroupedPod pod) {
      pods.remove(pod);
      count(pod, -pod.slots());
    }

    private void count(GroupedPod pod, int slots) {
      taken += slots;
      slotsByRoleGroup[pod.ofRoleGroup().number] += slots;
      slotsByGroup[pod.ofGroup().number] += slots;
      slotsByRole.merge(pod.roleGroup().role(), slots, Integer::sum);
    }

    boolean hasRoomFor(GroupedPod pod) {
      return taken == 0 || taken + pod.slots() <= maxSlots;
    }

    /** Leaves room for those that a prefill or decode worker needs beside it, whichever comes first. */
    boolean keepsRoomForPartner(GroupedPod pod) {
      Role role = pod.roleGroup().role();
      int has = slotsByRole.getOrDefault(role, 0);
      return role == Role.BOTH || has == 0 || has + pod.slots() <= maxSlots * 3 / 4;
    }

    boolean has(RoleGroup team) {
      SlotCount tally = roleGroups.get(team);
      return tally != null && slotsByRoleGroup[tally.number] > 0;
    }

    List<GroupedPod> pods(@Nullable TransferDomain island, Role role) {
      return pods.stream()
          .filter(pod -> pod.roleGroup().role() == role && Objects.equals(pod.roleGroup().group().island(), island))
          .toList();
    }
  }

  private Assignment(String group, List<PodEntry> entries, int most) {
    this.group = group;
    this.maxSlots = most;
    long latest = 0;
    for (PodEntry entry : entries) {
      TransferGroup kind = TransferGroup.of(entry.spec());
      RoleGroup team = new RoleGroup(kind, entry.spec().role());
      SlotCount ofKind = transferGroups.computeIfAbsent(kind, _ -> new SlotCount(transferGroups.size()));
      SlotCount ofTeam = roleGroups.computeIfAbsent(team, _ -> new SlotCount(roleGroups.size()));
      GroupedPod pod = new GroupedPod(entry, team, ofTeam, ofKind);
      ofKind.slots += pod.slots();
      ofTeam.slots += pod.slots();
      pods.add(pod);
      latest = Math.max(latest, pod.order());
    }
    this.order = latest + 1;
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
    groups.forEach((group, members) -> new Assignment(group, members, most).assign(placed));
    return placed;
  }

  private void assign(Map<String, PodEntry> placed) {
    List<GroupedPod> homeless = keepPlaced();
    if (!homeless.isEmpty()) {
      int slots = pods.stream().mapToInt(GroupedPod::slots).sum();
      while (cells.size() < Math.ceilDiv(slots, maxSlots)) {
        open();
      }
      homeless.sort(
          Comparator.comparing((GroupedPod pod) -> pod.roleGroup().group().order())
              .thenComparing(pod -> pod.roleGroup().role())
              .thenComparing(GroupedPod::name));
      homeless.forEach(this::place);
    }
    while (pairPartners()) {
      // One pod at a time.
    }
    for (CellDraft cell : cells.values()) {
      cell.pods.forEach(pod -> placed.put(pod.name(), pod.entry()));
    }
  }

  /** Leaves every pod in its cell, as far as there is room; returns the others. */
  private List<GroupedPod> keepPlaced() {
    List<GroupedPod> homeless = new ArrayList<>();
    pods.sort(EARLIEST);
    for (GroupedPod pod : pods) {
      Placement placement = pod.entry().placement();
      if (placement == null || !placement.isOf(group)) {
        homeless.add(pod);
        continue;
      }
      CellDraft cell = cells.computeIfAbsent(placement.cell(), name -> new CellDraft(name, number(name)));
      if (cell.hasRoomFor(pod)) {
        cell.add(pod);
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
  private void place(GroupedPod pod) {
    int share = share(pod);
    int team = pod.ofRoleGroup().number;
    int kind = pod.ofGroup().number;
    CellDraft best =
        cells.values().stream()
            .filter(cell -> cell.hasRoomFor(pod) && cell.keepsRoomForPartner(pod))
            .min(
                Comparator.comparingInt((CellDraft cell) -> cell.slotsByRoleGroup[team] < share ? 0
                    : 1 + cell.slotsByRoleGroup[team])
                    .thenComparingInt(cell -> -cell.slotsByGroup[kind])
                    .thenComparingInt(cell -> cell.taken)
                    .thenComparingInt(cell -> cell.number))
            .orElseGet(this::open);
    best.add(pod.placedIn(new Placement(best.name, order)));
  }

  /** Slots each of the cells that a pod's kind needs, or already has, should have of its team at least. */
  private int share(GroupedPod pod) {
    int kind = pod.ofGroup().number;
    int has = 0;
    for (CellDraft cell : cells.values()) {
      has += cell.slotsByGroup[kind] > 0 ? 1 : 0;
    }
    return pod.ofRoleGroup().slots / Math.max(has, Math.ceilDiv(pod.ofGroup().slots, maxSlots));
  }

  private CellDraft open() {
    int number = 1;
    while (cells.containsKey(Placement.cell(group, number))) {
      number++;
    }
    CellDraft opened = new CellDraft(Placement.cell(group, number), number);
    cells.put(opened.name, opened);
    return opened;
  }

  /** Brings prefill or decode workers that have no partner in their cell one from a cell that has several. */
  private boolean pairPartners() {
    List<RoleGroup> inOrder =
        roleGroups.keySet().stream()
            .sorted(Comparator.comparing((RoleGroup team) -> team.group().order()).thenComparing(RoleGroup::role))
            .toList();
    for (CellDraft cell : cells.values()) {
      for (RoleGroup team : inOrder) {
        Role partner =
            switch (team.role()) {
              case PREFILL -> Role.DECODE;
              case DECODE -> Role.PREFILL;
              case ENCODE, BOTH -> null;
            };
        TransferDomain island = team.group().island();
        if (partner != null
            && cell.has(team)
            && cell.pods(island, partner).isEmpty()
            && move(cell, island, partner)) {
          return true;
        }
      }
    }
    return false;
  }

  private boolean move(CellDraft cell, @Nullable TransferDomain island, Role role) {
    List<GroupedPod> several = List.of();
    CellDraft giver = cell;
    for (CellDraft other : cells.values()) {
      List<GroupedPod> candidates = other.pods(island, role);
      if (candidates.size() > Math.max(1, several.size())) {
        several = candidates;
        giver = other;
      }
    }
    GroupedPod latest = several.stream().max(EARLIEST).orElse(null);
    if (latest == null || !cell.hasRoomFor(latest)) {
      return false;
    }
    giver.remove(latest);
    cell.add(latest.placedIn(new Placement(cell.name, order)));
    return true;
  }
}
