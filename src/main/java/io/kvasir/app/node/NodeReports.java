package io.kvasir.app.node;

import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.ClusterStatus.NodeStatus;
import io.kvasir.gateway.admin.tenants.TenantReport;
import io.kvasir.gateway.admin.vitals.ClusterVitals;
import io.kvasir.gateway.admin.vitals.NodeReport;
import io.kvasir.gateway.admin.vitals.VitalSample;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.pekko.actor.Address;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.receptionist.Receptionist;
import org.apache.pekko.actor.typed.receptionist.ServiceKey;
import org.apache.pekko.cluster.ClusterEvent.CurrentClusterState;
import org.apache.pekko.cluster.Member;
import org.apache.pekko.cluster.typed.Cluster;
import org.jspecify.annotations.Nullable;

/**
 * What the nodes of the cluster report of themselves. Each other node is asked when somebody looks, once a second at
 * most; as seldom does this one write its own report, for all that ask. Thread-safe; waits for the other nodes.
 */
final class NodeReports implements ClusterVitals {
  private static final ServiceKey<Query> KEY = ServiceKey.create(Query.class, "kvasir-reports");
  private static final Duration TIMEOUT = Duration.ofMillis(400);

  /** The protocol between nodes. */
  sealed interface Message {}

  /**
   * Asks a node for its report.
   *
   * @param history whether it is asked for what it has measured in the last minutes, too
   * @param tenants whether it is asked for its tenants, too
   */
  record Query(boolean history, boolean tenants, ActorRef<Reply> replyTo) implements Message {}

  /**
   * A node's report.
   *
   * @param history null unless it was asked for
   * @param tenants null unless they were asked for, and from a node of an earlier version
   */
  record Reply(
      NodeReport report, @Nullable List<VitalSample> history, @Nullable List<TenantReport> tenants)
      implements Message {}

  private final ActorSystem<?> system;
  private final Cluster cluster;
  private final Supplier<List<VitalSample>> history;
  private final Recent<NodeReport> own;
  private final Recent<List<TenantReport>> ownTenants;
  private final Recent<Answers<NodeReport>> reports;
  private final Recent<Answers<List<TenantReport>>> tenants;

  /**
   * Begins to answer the other nodes.
   *
   * @param report writes this node's report
   * @param history what it has measured in the last minutes, the latest first
   * @param tenants the traffic of its tenants
   * @param threads where it is written for others, which may wait
   */
  NodeReports(
      ActorSystem<?> system,
      Supplier<NodeReport> report,
      Supplier<List<VitalSample>> history,
      Supplier<List<TenantReport>> tenants,
      Executor threads,
      NanoClock clock) {
    this.system = system;
    this.cluster = Cluster.get(system);
    this.history = history;
    this.own = new Recent<>(report, clock);
    this.ownTenants = new Recent<>(tenants, clock);
    this.reports = new Recent<>(() -> query(replyTo -> new Query(false, false, replyTo), Reply::report), clock);
    this.tenants = new Recent<>(() -> query(replyTo -> new Query(false, true, replyTo), Reply::tenants), clock);
    ActorRef<Query> answering =
        system.systemActorOf(
            Behaviors.<Query>receiveMessage(
                query -> {
                  threads.execute(() -> query.replyTo().tell(reply(query)));
                  return Behaviors.same();
                }),
            "kvasir-reports",
            Props.empty());
    system.receptionist().tell(Receptionist.register(KEY, answering));
  }

  @Override
  public Answers<NodeReport> reports() {
    return reports.get();
  }

  @Override
  public Answers<List<VitalSample>> histories() {
    return query(replyTo -> new Query(true, false, replyTo), Reply::history);
  }

  /** The traffic of tenants through the nodes that answer, about a second old at most. */
  Answers<List<TenantReport>> tenants() {
    return tenants.get();
  }

  /** A description of the cluster with what its other nodes say of themselves. */
  ClusterStatus completed(ClusterStatus status) {
    Map<String, NodeReport> byNode = reports().byNode();
    List<NodeStatus> nodes =
        status.nodes().stream().map(node -> completed(node, byNode.get(node.address()))).toList();
    return new ClusterStatus(nodes, status.cells(), status.workers());
  }

  private static NodeStatus completed(NodeStatus node, @Nullable NodeReport report) {
    return node.self() || report == null
        ? node
        : new NodeStatus(
            node.address(), node.state(), node.reachable(), report.version(), false, report.cutOff(),
            Duration.ofSeconds(report.uptime()));
  }

  private Reply reply(Query query) {
    return new Reply(
        own.get(), query.history() ? history.get() : null, query.tenants() ? ownTenants.get() : null);
  }

  /** What every node answers to a query; one whose answer lacks the part that was asked for is missing. */
  private <A> Answers<A> query(
      Function<ActorRef<Reply>, Query> query, Function<Reply, @Nullable A> part) {
    Reply self = reply(query.apply(system.ignoreRef()));
    SequencedMap<String, A> byNode = new LinkedHashMap<>();
    put(byNode, self.report().node(), part.apply(self));
    SortedMap<String, Address> others = others();
    if (others.isEmpty()) {
      return new Answers<>(byNode, List.of());
    }
    Map<Address, ActorRef<Query>> answering = answering();
    SequencedMap<String, CompletableFuture<Reply>> replies = new LinkedHashMap<>();
    others.forEach((node, address) -> replies.put(node, reply(answering.get(address), query)));
    CompletableFuture.allOf(replies.values().toArray(CompletableFuture[]::new)).exceptionally(_ -> null).join();
    replies.forEach((node, reply) -> {
      if (!reply.isCompletedExceptionally()) {
        put(byNode, node, part.apply(reply.join()));
      }
    });
    return new Answers<>(byNode, others.keySet().stream().filter(node -> !byNode.containsKey(node)).toList());
  }

  private static <A> void put(Map<String, A> byNode, String node, @Nullable A part) {
    if (part != null) {
      byNode.put(node, part);
    }
  }

  private CompletableFuture<Reply> reply(
      @Nullable ActorRef<Query> node, Function<ActorRef<Reply>, Query> query) {
    return node == null
        ? CompletableFuture.failedFuture(new IllegalStateException("it is not reachable, or of an earlier version"))
        : AskPattern.<Query, Reply>ask(node, query::apply, TIMEOUT, system.scheduler()).toCompletableFuture();
  }

  /** The other members, by host and port. */
  private SortedMap<String, Address> others() {
    CurrentClusterState state = cluster.state();
    SortedMap<String, Address> others = new TreeMap<>();
    for (Member member : state.getMembers()) {
      if (!member.uniqueAddress().equals(cluster.selfMember().uniqueAddress())) {
        others.put(hostAndPort(member.address()), member.address());
      }
    }
    return others;
  }

  /** The nodes that can be asked now. */
  private Map<Address, ActorRef<Query>> answering() {
    CompletionStage<Receptionist.Listing> listing =
        AskPattern.ask(
            system.receptionist(),
            (ActorRef<Receptionist.Listing> replyTo) -> Receptionist.find(KEY, replyTo),
            TIMEOUT,
            system.scheduler());
    try {
      return listing.toCompletableFuture().join().getServiceInstances(KEY).stream()
          .collect(Collectors.toMap(ref -> ref.path().address(), Function.identity(), (one, _) -> one));
    } catch (CompletionException late) {
      system.log().info("the other nodes were not found in time: {}", late.getMessage());
      return Map.of();
    }
  }

  /** The host and port of a node. */
  static String hostAndPort(Address address) {
    return address.getHost().orElse("localhost") + ":" + address.getPort().orElse(0);
  }
}
