package io.kvasir.cell.client;

import io.kvasir.cell.CellMove;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.ClusterStatus.CellStatus;
import io.kvasir.cell.ClusterStatus.NodeStatus;
import io.kvasir.cell.FleetDescription;
import io.kvasir.cell.HealthChange;
import io.kvasir.cell.HeldPrefixes;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.directory.CellMoves;
import io.kvasir.cell.directory.CurrentRoster;
import io.kvasir.cell.directory.NodeNames;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.home.Cell;
import io.kvasir.cell.view.CellView;
import io.kvasir.cell.view.CellViews;
import io.kvasir.index.Chain;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.cluster.ClusterEvent.CurrentClusterState;
import org.apache.pekko.cluster.sharding.typed.javadsl.ClusterSharding;
import org.apache.pekko.cluster.typed.Cluster;

/** The fleet as the homes of all cells of the cluster describe it. Thread-safe. */
final class ClusterDescription implements FleetDescription {
  /** The state of a node that the cluster has taken out, in its own eyes. */
  private static final String CUT_OFF = "cut off";

  /** Blocks that are asked for at a time: some 40 kB, a fraction of the largest message. */
  private static final int BLOCKS_PER_MESSAGE = 4096;

  private final ActorSystem<?> system;
  private final Cluster cluster;
  private final ClusterSharding sharding;
  private final CellViews views;
  private final CurrentRoster roster;
  private final CellReports reports;
  private final CellMoves moves;
  private final Duration timeout;
  private final NanoClock clock;

  /**
   * A description that is read from the cells at each call.
   *
   * @param views the cells whose home is this node
   * @param roster all cells
   * @param reports the pressure on them
   * @param moves those of cells that this node has seen
   * @param timeout how long a cell's home may take to describe it
   */
  ClusterDescription(
      ActorSystem<?> system, CellViews views, CurrentRoster roster, CellReports reports, CellMoves moves,
      Duration timeout, NanoClock clock) {
    this.system = system;
    this.cluster = Cluster.get(system);
    this.sharding = ClusterSharding.get(system);
    this.views = views;
    this.roster = roster;
    this.reports = reports;
    this.moves = moves;
    this.timeout = timeout;
    this.clock = clock;
  }

  @Override
  public List<WorkerStatus> workers() {
    return describe().values().stream().flatMap(cell -> cell.workers().stream()).toList();
  }

  /** The description of each cell by its home; of one that does not answer in time, no home and no workers. */
  private SequencedMap<String, Cell.Description> describe() {
    SequencedMap<String, CompletionStage<Cell.Description>> replies = new LinkedHashMap<>();
    if (cluster.isTerminated()) {
      SequencedMap<String, Cell.Description> homeless = new LinkedHashMap<>();
      roster.get().cells().forEach(cell -> homeless.put(cell, new Cell.Description(List.of(), null, null, null)));
      return homeless;
    }
    String localNode = NodeNames.hostAndPort(cluster.selfMember().address());
    for (String cell : roster.get().cells()) {
      CellView view = views.of(cell);
      replies.put(
          cell,
          view != null
              ? CompletableFuture.completedStage(
                  new Cell.Description(view.workers(), localNode, view.standbys(), view.waiting()))
              : sharding.entityRefFor(Cell.KEY, cell).ask(Cell.Describe::new, timeout));
    }
    SequencedMap<String, Cell.Description> described = new LinkedHashMap<>();
    replies.forEach((cell, answer) -> {
      try {
        described.put(cell, answer.toCompletableFuture().join());
      } catch (CompletionException late) {
        system.log().warn("the home of cell {} did not describe it in time: {}", cell, late.getMessage());
        described.put(cell, new Cell.Description(List.of(), null, null, null));
      }
    });
    return described;
  }

  @Override
  public List<Problem> problems() {
    return views.problems();
  }

  @Override
  public List<CellMove> moves() {
    return moves.latest();
  }

  @Override
  public List<HealthChange> healthChanges() {
    return views.healthLog().all();
  }

  @Override
  public List<HealthChange> healthChanges(String pod) {
    String cell =
        roster.get().pods().stream()
            .filter(entry -> entry.spec().name().equals(pod))
            .map(PodEntry::cell)
            .findFirst()
            .orElse(null);
    if (cell == null || cluster.isTerminated() || views.of(cell) != null) {
      return views.healthLog().ofPod(pod);
    }
    try {
      return sharding.entityRefFor(Cell.KEY, cell)
          .<Cell.HealthHistory>ask(replyTo -> new Cell.DescribeHealth(pod, replyTo), timeout)
          .toCompletableFuture()
          .join()
          .changes();
    } catch (CompletionException late) {
      system.log().warn("the home of cell {} did not tell the health of {}: {}", cell, pod, late.getMessage());
      return List.of();
    }
  }

  @Override
  public HeldPrefixes heldPrefixes(String model, List<Chain> chains) {
    List<List<Integer>> depths = new ArrayList<>();
    chains.forEach(_ -> depths.add(new ArrayList<>()));
    List<String> missing = new ArrayList<>();
    SequencedMap<String, CompletionStage<List<List<Integer>>>> replies = new LinkedHashMap<>();
    roster.get().cellsOf(model).keySet().forEach(cell -> replies.put(cell, held(cell, model, chains)));
    replies.forEach((cell, answer) -> {
      try {
        List<List<Integer>> held = answer.toCompletableFuture().join();
        for (int i = 0; i < chains.size(); i++) {
          depths.get(i).addAll(held.get(i));
        }
      } catch (CompletionException late) {
        system.log().warn("the home of cell {} did not tell what its workers hold: {}", cell, late.getMessage());
        missing.add(cell);
      }
    });
    return new HeldPrefixes(depths, missing);
  }

  /** What a cell's home says of chains, in as many messages as they need. */
  private CompletionStage<List<List<Integer>>> held(String cell, String model, List<Chain> chains) {
    CellView view = views.of(cell);
    if (view != null) {
      return CompletableFuture.completedStage(view.heldPrefixes(model, chains));
    }
    if (cluster.isTerminated()) {
      return CompletableFuture.failedStage(new IllegalStateException("this node is cut off from the cluster"));
    }
    CompletionStage<List<List<Integer>>> all = CompletableFuture.completedStage(List.of());
    int from = 0;
    while (from < chains.size()) {
      int to = from;
      int blocks = 0;
      do {
        blocks += chains.get(to++).length();
      } while (to < chains.size() && blocks + chains.get(to).length() <= BLOCKS_PER_MESSAGE);
      List<Chain> part = List.copyOf(chains.subList(from, to));
      all = all.thenCombine(
          sharding.entityRefFor(Cell.KEY, cell)
              .<Cell.Held>ask(replyTo -> new Cell.DescribeHeld(model, part, replyTo), timeout),
          (before, reply) -> Stream.concat(before.stream(), reply.depths().stream()).toList());
      from = to;
    }
    return all;
  }

  @Override
  public ClusterStatus cluster() {
    SequencedMap<String, Cell.Description> described = describe();
    return new ClusterStatus(
        nodes(),
        described.entrySet().stream().map(cell -> cell(cell.getKey(), cell.getValue())).toList(),
        described.values().stream().flatMap(cell -> cell.workers().stream()).toList());
  }

  /**
   * Each node once: this one first when the cluster has taken it out, whose member list may or may not still have it.
   */
  private List<NodeStatus> nodes() {
    boolean cutOff = cluster.isTerminated();
    org.apache.pekko.cluster.Member self = cluster.selfMember();
    CurrentClusterState state = cluster.state();
    List<NodeStatus> nodes = new ArrayList<>();
    if (cutOff) {
      nodes.add(node(self, CUT_OFF, true));
    }
    for (org.apache.pekko.cluster.Member node : state.getMembers()) {
      if (!cutOff || !isSelf(node)) {
        boolean reachable = !state.getUnreachable().contains(node);
        nodes.add(node(node, node.status().toString().toLowerCase(Locale.ROOT), reachable));
      }
    }
    return nodes;
  }

  private NodeStatus node(org.apache.pekko.cluster.Member node, String state, boolean reachable) {
    boolean self = isSelf(node);
    return new NodeStatus(
        NodeNames.hostAndPort(node.address()),
        state,
        reachable,
        node.appVersion().version(),
        self,
        self ? cluster.isTerminated() : null,
        self ? Duration.ofSeconds(system.uptime()) : null);
  }

  private boolean isSelf(org.apache.pekko.cluster.Member node) {
    return node.uniqueAddress().equals(cluster.selfMember().uniqueAddress());
  }

  private CellStatus cell(String name, Cell.Description described) {
    double pressure = reports.gauge(name).share(clock.nanos());
    return new CellStatus(
        name,
        described.home(),
        pressure == PressureGauge.UNKNOWN ? null : pressure,
        Objects.requireNonNullElse(described.standbys(), List.of()),
        Objects.requireNonNullElse(described.waiting(), ClusterStatus.WaitingStatus.NONE));
  }
}
