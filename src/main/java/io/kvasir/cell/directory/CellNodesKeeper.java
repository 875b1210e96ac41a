package io.kvasir.cell.directory;

import io.kvasir.cell.CellSettings;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.DispatcherSelector;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;
import org.apache.pekko.cluster.ClusterEvent;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.ddata.Key;
import org.apache.pekko.cluster.ddata.LWWMap;
import org.apache.pekko.cluster.ddata.LWWMapKey;
import org.apache.pekko.cluster.ddata.SelfUniqueAddress;
import org.apache.pekko.cluster.ddata.typed.javadsl.DistributedData;
import org.apache.pekko.cluster.ddata.typed.javadsl.Replicator;
import org.apache.pekko.cluster.ddata.typed.javadsl.ReplicatorMessageAdapter;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Subscribe;

/**
 * One per node: keeps where cells are and have copies replicated over the cluster (Distributed Data), and keeps those
 * copies that are to be on this node.
 */
public final class CellNodesKeeper extends AbstractBehavior<CellNodesKeeper.Message> {
  private static final Key<LWWMap<String, CellNodes>> CELL_NODES = LWWMapKey.create("kvasir-cell-nodes");
  private static final Duration WRITE_TIMEOUT = Duration.ofSeconds(1);

  /** The state may be read a moment before the event that announces it is in it. */
  private static final Duration REFRESH_INTERVAL = Duration.ofSeconds(1);

  /** The messages to the keeper. */
  public sealed interface Message {}

  /**
   * Replicates the nodes of a cell, for its home.
   *
   * @param onReplicated runs when every node has received them, or could not within a second
   */
  public record Put(String cell, CellNodes cellNodes, Runnable onReplicated) implements Message {}

  /**
   * Removes the nodes of a cell that ends: the standbys on them stop.
   *
   * @param onReplicated runs when every node has received that, or could not within a second
   */
  public record Remove(String cell, Runnable onReplicated) implements Message {}

  private record Changed(Map<String, CellNodes> nodesByCell) implements Message {}

  private record Written(Runnable onReplicated) implements Message {}

  private record StandbyStopped(String cell, ActorRef<?> standby) implements Message {}

  private record MemberChanged(ClusterEvent.MemberEvent event) implements Message {}

  private enum Refresh implements Message { INSTANCE }

  private final ReplicatorMessageAdapter<Message, LWWMap<String, CellNodes>> replicator;
  private final SelfUniqueAddress self;
  private final Cluster cluster;
  private final NodesByCell published;
  private final CellMoves moves;
  private final DispatcherSelector dispatcher;
  private final String node;
  private final BiFunction<String, String, ? extends Behavior<?>> standby;
  private final Map<String, ActorRef<?>> standbys = new HashMap<>();

  private CellNodesKeeper(
      ActorContext<Message> context,
      ReplicatorMessageAdapter<Message, LWWMap<String, CellNodes>> replicator,
      TimerScheduler<Message> timers,
      NodesByCell published,
      CellMoves moves,
      DispatcherSelector threads,
      BiFunction<String, String, ? extends Behavior<?>> standby) {
    super(context);
    this.dispatcher = threads;
    this.replicator = replicator;
    this.self = DistributedData.get(context.getSystem()).selfUniqueAddress();
    this.cluster = Cluster.get(context.getSystem());
    this.published = published;
    this.moves = moves;
    this.node = NodeNames.of(cluster.selfMember().uniqueAddress());
    this.standby = standby;
    replicator.subscribe(CELL_NODES, CellNodesKeeper::changed);
    timers.startTimerWithFixedDelay(Refresh.INSTANCE, REFRESH_INTERVAL);
    cluster
        .subscriptions()
        .tell(
            Subscribe.create(
                context.messageAdapter(ClusterEvent.MemberEvent.class, MemberChanged::new),
                ClusterEvent.MemberEvent.class));
    refreshNodes();
  }

  /**
   * The keeper of a node.
   *
   * @param published where threads of this node read
   * @param moves where moves of cells are kept
   * @param threads write into copies
   * @param standby keeps the copy of a cell, given its name and this node's
   */
  public static Behavior<Message> create(
      NodesByCell published,
      CellMoves moves,
      DispatcherSelector threads,
      BiFunction<String, String, ? extends Behavior<?>> standby) {
    return DistributedData.withReplicatorMessageAdapter(
        (ReplicatorMessageAdapter<Message, LWWMap<String, CellNodes>> replicator) ->
            Behaviors.setup(
                context ->
                    Behaviors.withTimers(
                        timers ->
                            new CellNodesKeeper(context, replicator, timers, published, moves, threads, standby))));
  }

  @Override
  public Receive<Message> createReceive() {
    return newReceiveBuilder().onMessage(Message.class, this::on).build();
  }

  private Behavior<Message> on(Message message) {
    switch (message) {
      case Put put -> update(map -> map.put(self, put.cell(), put.cellNodes()), put.onReplicated());
      case Remove remove -> update(map -> map.remove(self, remove.cell()), remove.onReplicated());
      case Changed changed -> {
        Map<String, CellNodes> before = published.all();
        published.set(changed.nodesByCell());
        refreshNodes();
        moves.add(before, changed.nodesByCell(), published.nodes().keySet());
        updateStandbys();
      }
      case Written written -> written.onReplicated().run();
      case StandbyStopped ended -> standbys.remove(ended.cell(), ended.standby());
      case MemberChanged changed -> {
        ClusterEvent.MemberEvent event = changed.event();
        if (event instanceof ClusterEvent.MemberLeft || event instanceof ClusterEvent.MemberExited) {
          moves.nodeLeaves(NodeNames.of(event.member().uniqueAddress()));
        }
        refresh();
      }
      case Refresh _ -> refresh();
    }
    return this;
  }

  private void refresh() {
    refreshNodes();
    updateStandbys();
  }

  private void update(
      Function<LWWMap<String, CellNodes>, LWWMap<String, CellNodes>> change, Runnable onReplicated) {
    replicator.askUpdate(
        replyTo ->
            new Replicator.Update<>(
                CELL_NODES, LWWMap.empty(), new Replicator.WriteAll(WRITE_TIMEOUT), replyTo, change),
        _ -> new Written(onReplicated));
  }

  private void refreshNodes() {
    SortedMap<String, String> up = new TreeMap<>();
    for (org.apache.pekko.cluster.Member member : cluster.state().getMembers()) {
      if (member.status().equals(MemberStatus.up())) {
        String zone =
            member.getRoles().stream()
                .filter(role -> role.startsWith(CellSettings.ZONE_ROLE))
                .findFirst()
                .map(role -> role.substring(CellSettings.ZONE_ROLE.length()))
                .orElse("");
        up.put(NodeNames.of(member.uniqueAddress()), zone);
      }
    }
    published.nodes(up);
  }

  /** Starts and stops standbys on this node, as homes require. */
  private void updateStandbys() {
    Map<String, CellNodes> all = published.all();
    standbys.entrySet().removeIf(kept -> {
      boolean ended = !all.containsKey(kept.getKey());
      if (ended) {
        getContext().stop(kept.getValue());
      }
      return ended;
    });
    all.forEach((cell, cellNodes) -> {
      boolean assigned = cellNodes.standbys().contains(node) && !cellNodes.home().equals(node);
      ActorRef<?> kept = standbys.get(cell);
      if (assigned && kept == null) {
        ActorRef<?> started =
            getContext().spawnAnonymous(standby.apply(cell, node), dispatcher);
        // One that fails is started again, with an empty replica.
        getContext().watchWith(started, new StandbyStopped(cell, started));
        standbys.put(cell, started);
      } else if (!assigned && kept != null) {
        getContext().stop(kept);
        standbys.remove(cell);
      }
    });
  }

  private static Message changed(Replicator.SubscribeResponse<LWWMap<String, CellNodes>> response) {
    return response instanceof Replicator.Changed<LWWMap<String, CellNodes>> change
        ? new Changed(change.dataValue().getEntries())
        : new Changed(Map.of());
  }
}
