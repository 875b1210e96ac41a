package io.kvasir.cell.client;

import com.fasterxml.jackson.dataformat.cbor.CBORFactory;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.client.HomeMessages.HomeRequest;
import io.kvasir.cell.directory.CellNodes;
import io.kvasir.cell.directory.NodeNames;
import io.kvasir.cell.directory.NodesByCell;
import io.kvasir.cell.ledger.OpenReservations;
import io.kvasir.cell.ledger.ReservationEvent;
import io.kvasir.cell.view.CellView;
import io.kvasir.cell.view.CellViews;
import io.kvasir.cell.view.DecisionReply;
import io.kvasir.cell.view.DecisionServer;
import io.kvasir.peer.PeerAddress;
import io.kvasir.peer.PeerConnections;
import io.kvasir.telemetry.DecisionRecord;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.serialization.jackson.JacksonObjectMapperProvider;
import org.jspecify.annotations.Nullable;

/**
 * Decisions over {@linkplain PeerConnections peer connections}: requests to the homes of cells on other nodes, and
 * replies to theirs. Only members of the cluster are sent requests or replied to, and of others nothing is read but
 * their names. Thread-safe.
 */
final class PeerDecisions {
  private final String self;
  private final PeerConnections connections;
  private final NodesByCell nodesByCell;
  private final HomeMessages messages;

  PeerDecisions(ActorSystem<?> system, String self, PeerConnections connections, NodesByCell nodesByCell) {
    this.self = self;
    this.connections = connections;
    this.nodesByCell = nodesByCell;
    this.messages =
        new HomeMessages(
            JacksonObjectMapperProvider.get(system).getOrCreate("jackson-cbor", Optional.of(new CBORFactory())));
  }

  /** The port at which peers reach this node. */
  int port() {
    return connections.port();
  }

  /**
   * Begins to reply to peers, for cells whose home is this node, and to make connections to the homes of the others.
   */
  void serve(CellViews views) {
    connections.serve(self, request -> serve(request, views));
    nodesByCell.onUpdate(this::connect);
    Thread.ofVirtual().start(messages::prepare);
  }

  private byte @Nullable [] serve(byte[] request, CellViews views) {
    String node = messages.requestingNode(request);
    if (node == null || !isMember(node)) {
      return null;
    }
    HomeRequest homeRequest = messages.read(request, HomeRequest.class);
    CellView view = views.of(homeRequest.cell());
    return view == null || !homeRequest.node().equals(node) ? null : serve(homeRequest, view);
  }

  private byte[] serve(HomeRequest homeRequest, CellView view) {
    DecisionServer decisions = view.decisionServer();
    String node = homeRequest.node();
    if (homeRequest.events() != null) {
      homeRequest.events().forEach(event -> decisions.leased().apply(node, event));
    }
    if (homeRequest.open() != null) {
      decisions.reconcile(node, homeRequest.open());
    }
    if (homeRequest.request() != null) {
      return messages.write(decisions.decide(homeRequest.request(), node, homeRequest.correlationId()));
    }
    return homeRequest.explained() == null
        ? HomeMessages.ACKNOWLEDGED
        : messages.write(decisions.explain(homeRequest.explained()));
  }

  /**
   * Has a cell's home decide.
   *
   * @param events applied by the home before it decides
   * @return null when there is no peer connection; completes with null when that node is not the home, and has applied
   *     nothing, or fails with a {@link java.util.concurrent.TimeoutException} or an {@link IOException} when it may
   *     have
   */
  @Nullable CompletableFuture<@Nullable DecisionReply> query(
      String cell, DecisionRequest request, long correlationId, List<ReservationEvent> events, Duration timeout) {
    CompletableFuture<byte @Nullable []> answer =
        query(new HomeRequest(cell, self, events, request, correlationId, null, null), timeout);
    return answer == null
        ? null
        : answer.thenApply(reply -> reply == null ? null : messages.read(reply, DecisionReply.class));
  }

  /**
   * Sends events to a cell's home, and then the reservations that are open here.
   *
   * @param open null when they are not declared now
   * @return null, or completes with false or a failure, when the home may not have received them
   */
  @Nullable CompletableFuture<Boolean> send(
      String cell, List<ReservationEvent> events, @Nullable OpenReservations open, Duration timeout) {
    CompletableFuture<byte @Nullable []> answer =
        query(new HomeRequest(cell, self, events, null, 0, open, null), timeout);
    return answer == null ? null : answer.thenApply(Objects::nonNull);
  }

  /**
   * Has a cell's home explain how it would decide.
   *
   * @return null when there is no peer connection; completes with null when that node is not the home, or is of a
   *     version that explains over the cluster only
   */
  @Nullable CompletableFuture<@Nullable DecisionRecord> explain(
      String cell, DecisionRequest request, Duration timeout) {
    CompletableFuture<byte @Nullable []> answer =
        query(new HomeRequest(cell, self, List.of(), null, 0, null, request), timeout);
    return answer == null
        ? null
        : answer.thenApply(
            reply ->
                reply == null || Arrays.equals(reply, HomeMessages.ACKNOWLEDGED)
                    ? null
                    : messages.read(reply, DecisionRecord.class));
  }

  private @Nullable CompletableFuture<byte @Nullable []> query(HomeRequest homeRequest, Duration timeout) {
    PeerAddress home = homeOf(nodesByCell.of(homeRequest.cell()));
    return home == null ? null : connections.request(home, messages.write(homeRequest), timeout);
  }

  private void connect() {
    for (CellNodes nodes : nodesByCell.all().values()) {
      PeerAddress home = homeOf(nodes);
      if (home != null) {
        connections.connect(home);
      }
    }
  }

  /** Where a home has its port for peers; null when it has none, is this node, or is not known to be a member. */
  private @Nullable PeerAddress homeOf(@Nullable CellNodes nodes) {
    return nodes == null || nodes.peerPort() == 0 || !isMember(nodes.home()) || nodes.home().equals(self)
        ? null
        : new PeerAddress(nodes.home(), NodeNames.host(nodes.home()), nodes.peerPort());
  }

  private boolean isMember(String node) {
    return nodesByCell.nodes().containsKey(node);
  }
}
