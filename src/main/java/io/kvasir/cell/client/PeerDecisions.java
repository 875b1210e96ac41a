package io.kvasir.cell.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.cbor.CBORFactory;
import io.kvasir.cell.ClusterMessage;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.directory.CellNodes;
import io.kvasir.cell.directory.NodeNames;
import io.kvasir.cell.directory.NodesByCell;
import io.kvasir.cell.ledger.ReservationEvent;
import io.kvasir.cell.view.CellView;
import io.kvasir.cell.view.CellViews;
import io.kvasir.cell.view.DecisionReply;
import io.kvasir.cell.view.RemoteDecisions;
import io.kvasir.peer.PeerAddress;
import io.kvasir.peer.PeerConnections;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.serialization.jackson.JacksonObjectMapperProvider;
import org.jspecify.annotations.Nullable;

/**
 * Decisions over {@linkplain PeerConnections peer connections}: requests to the homes of cells on other nodes, and
 * replies to theirs. The messages are those of the cluster in CBOR, by the same rules: fields may be added. Only
 * members of the cluster are sent requests or replied to. Thread-safe.
 */
final class PeerDecisions {
  /** The reply to a request that has events only. */
  private static final byte[] ACKNOWLEDGED = {1};

  private final String self;
  private final PeerConnections connections;
  private final NodesByCell nodesByCell;
  private final ObjectMapper cbor;

  /**
   * A request to a cell's home.
   *
   * @param cell the cell
   * @param node the requesting node: its address and incarnation
   * @param events what has become of the node's reservations until now; null from a node that sends that otherwise
   * @param request what is to be decided after that, null when nothing is
   * @param correlationId the node's own id of the request
   */
  record HomeRequest(
      String cell, String node, @Nullable List<ReservationEvent> events, @Nullable DecisionRequest request,
      long correlationId)
      implements ClusterMessage {}

  PeerDecisions(ActorSystem<?> system, String self, PeerConnections connections, NodesByCell nodesByCell) {
    this.self = self;
    this.connections = connections;
    this.nodesByCell = nodesByCell;
    this.cbor =
        JacksonObjectMapperProvider.get(system).getOrCreate("jackson-cbor", Optional.of(new CBORFactory()));
  }

  /** The port at which peers reach this node. */
  int port() {
    return connections.port();
  }

  /** Begins to reply to peers, for cells whose home is this node. */
  void serve(CellViews views) {
    connections.serve(self, request -> serve(request, views));
  }

  private byte @Nullable [] serve(byte[] request, CellViews views) {
    try {
      HomeRequest homeRequest = cbor.readValue(request, HomeRequest.class);
      CellView view = views.of(homeRequest.cell());
      return view == null || !isMember(homeRequest.node()) ? null : serve(homeRequest, view.remoteDecisions());
    } catch (IOException malformed) {
      throw new UncheckedIOException(malformed);
    }
  }

  private byte[] serve(HomeRequest homeRequest, RemoteDecisions decisions) throws IOException {
    if (homeRequest.events() != null) {
      homeRequest.events().forEach(event -> decisions.leased().apply(homeRequest.node(), event));
    }
    return homeRequest.request() == null
        ? ACKNOWLEDGED
        : cbor.writeValueAsBytes(
            decisions.decide(homeRequest.request(), homeRequest.node(), homeRequest.correlationId()));
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
        query(new HomeRequest(cell, self, events, request, correlationId), timeout);
    return answer == null ? null : answer.thenApply(this::decode);
  }

  /** Sends events to a cell's home; null, or completes with false or a failure, when it may not have received them. */
  @Nullable CompletableFuture<Boolean> send(String cell, List<ReservationEvent> events, Duration timeout) {
    CompletableFuture<byte @Nullable []> answer = query(new HomeRequest(cell, self, events, null, 0), timeout);
    return answer == null ? null : answer.thenApply(Objects::nonNull);
  }

  private @Nullable CompletableFuture<byte @Nullable []> query(HomeRequest homeRequest, Duration timeout) {
    CellNodes nodes = nodesByCell.of(homeRequest.cell());
    if (nodes == null || nodes.peerPort() == 0 || !isMember(nodes.home()) || nodes.home().equals(self)) {
      return null;
    }
    PeerAddress home = new PeerAddress(nodes.home(), NodeNames.host(nodes.home()), nodes.peerPort());
    try {
      return connections.request(home, cbor.writeValueAsBytes(homeRequest), timeout);
    } catch (JsonProcessingException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }

  private @Nullable DecisionReply decode(byte @Nullable [] answer) {
    try {
      return answer == null ? null : cbor.readValue(answer, DecisionReply.class);
    } catch (IOException malformed) {
      throw new UncheckedIOException(malformed);
    }
  }

  private boolean isMember(String node) {
    return nodesByCell.nodes().containsKey(node);
  }
}
