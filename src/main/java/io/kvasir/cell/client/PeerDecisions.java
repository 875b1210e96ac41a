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
 * Decisions asked for, and made for others, over {@linkplain PeerConnections lines}. They say in CBOR what is said over
 * the cluster, by the same rules: fields may be added. Only members of the cluster are asked and answered. Thread-safe.
 */
final class PeerDecisions {
  /** What is answered when there is nothing to decide. */
  private static final byte[] ACKNOWLEDGED = {1};

  private final String self;
  private final PeerConnections connections;
  private final NodesByCell nodesByCell;
  private final ObjectMapper cbor;

  /**
   * What is said over a line.
   *
   * @param cell the cell whose home is meant
   * @param node the node that says it: its address and incarnation
   * @param events what has become of the node's reservations until now; null from a node that tells it otherwise
   * @param request what is to be decided after that, null when nothing is
   * @param correlationId the node's own number of the question
   */
  record HomeRequest(
      String cell, String node, @Nullable List<ReservationEvent> events, @Nullable DecisionRequest request,
      long correlationId)
      implements ClusterMessage {}

  PeerDecisions(ActorSystem<?> system, String self, PeerConnections lines, NodesByCell nodesByCell) {
    this.self = self;
    this.connections = lines;
    this.nodesByCell = nodesByCell;
    this.cbor =
        JacksonObjectMapperProvider.get(system).getOrCreate("jackson-cbor", Optional.of(new CBORFactory()));
  }

  /** Where others ask this node. */
  int port() {
    return connections.port();
  }

  /** Answers others from now on, for cells that are at home here. */
  void serve(CellViews views) {
    connections.serve(self, asked -> serve(asked, views));
  }

  private byte @Nullable [] serve(byte[] asked, CellViews views) {
    try {
      HomeRequest question = cbor.readValue(asked, HomeRequest.class);
      CellView view = views.of(question.cell());
      return view == null || !isMember(question.node()) ? null : serve(question, view.remoteDecisions());
    } catch (IOException notOurs) {
      throw new UncheckedIOException(notOurs);
    }
  }

  private byte[] serve(HomeRequest question, RemoteDecisions decisions) throws IOException {
    if (question.events() != null) {
      question.events().forEach(notice -> decisions.leased().apply(question.node(), notice));
    }
    return question.request() == null
        ? ACKNOWLEDGED
        : cbor.writeValueAsBytes(decisions.decide(question.request(), question.node(), question.correlationId()));
  }

  /**
   * Asks a cell's home.
   *
   * @param notices what it is to hear before
   * @return null when it cannot be asked over a line; completes with null when it passes and has heard nothing, or
   *     fails with a {@link java.util.concurrent.TimeoutException} or an {@link IOException} when it may have
   */
  @Nullable CompletableFuture<@Nullable DecisionReply> query(
      String cell, DecisionRequest request, long ticket, List<ReservationEvent> notices, Duration patience) {
    CompletableFuture<byte @Nullable []> answer =
        query(new HomeRequest(cell, self, notices, request, ticket), patience);
    return answer == null ? null : answer.thenApply(this::decided);
  }

  /** Tells a cell's home; null or completes with false or a failure when that may not have heard it. */
  @Nullable CompletableFuture<Boolean> send(String cell, List<ReservationEvent> notices, Duration patience) {
    CompletableFuture<byte @Nullable []> answer = query(new HomeRequest(cell, self, notices, null, 0), patience);
    return answer == null ? null : answer.thenApply(Objects::nonNull);
  }

  private @Nullable CompletableFuture<byte @Nullable []> query(HomeRequest question, Duration patience) {
    CellNodes nodes = nodesByCell.of(question.cell());
    if (nodes == null || nodes.peerPort() == 0 || !isMember(nodes.home()) || nodes.home().equals(self)) {
      return null;
    }
    PeerAddress home = new PeerAddress(nodes.home(), NodeNames.host(nodes.home()), nodes.peerPort());
    try {
      return connections.request(home, cbor.writeValueAsBytes(question), patience);
    } catch (JsonProcessingException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }

  private @Nullable DecisionReply decided(byte @Nullable [] answer) {
    try {
      return answer == null ? null : cbor.readValue(answer, DecisionReply.class);
    } catch (IOException notOurs) {
      throw new UncheckedIOException(notOurs);
    }
  }

  private boolean isMember(String node) {
    return nodesByCell.nodes().containsKey(node);
  }
}
