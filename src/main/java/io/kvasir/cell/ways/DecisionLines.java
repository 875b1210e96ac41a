package io.kvasir.cell.ways;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.cbor.CBORFactory;
import io.kvasir.cell.ClusterMessage;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.ledger.Notice;
import io.kvasir.cell.line.LineAddress;
import io.kvasir.cell.line.Lines;
import io.kvasir.cell.standby.CellNodes;
import io.kvasir.cell.standby.NodeNames;
import io.kvasir.cell.standby.NodesByCell;
import io.kvasir.cell.view.CellView;
import io.kvasir.cell.view.CellViews;
import io.kvasir.cell.view.Decided;
import io.kvasir.cell.view.DecisionsForOthers;
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
 * Decisions asked for, and made for others, over {@linkplain Lines lines}. They say in CBOR what is said over the
 * cluster, by the same rules: fields may be added. Only members of the cluster are asked and answered. Thread-safe.
 */
final class DecisionLines {
  /** What is answered when there is nothing to decide. */
  private static final byte[] HEARD = {1};

  private final String self;
  private final Lines lines;
  private final NodesByCell nodesByCell;
  private final ObjectMapper cbor;

  /**
   * What is said over a line.
   *
   * @param cell the cell whose home is meant
   * @param node the node that says it: its address and incarnation
   * @param notices what has become of the node's reservations until now; null from a node that tells it otherwise
   * @param request what is to be decided after that, null when nothing is
   * @param ticket the node's own number of the question
   */
  record Question(
      String cell, String node, @Nullable List<Notice> notices, @Nullable DecisionRequest request, long ticket)
      implements ClusterMessage {}

  DecisionLines(ActorSystem<?> system, String self, Lines lines, NodesByCell nodesByCell) {
    this.self = self;
    this.lines = lines;
    this.nodesByCell = nodesByCell;
    this.cbor =
        JacksonObjectMapperProvider.get(system).getOrCreate("jackson-cbor", Optional.of(new CBORFactory()));
  }

  /** Where others ask this node. */
  int port() {
    return lines.port();
  }

  /** Answers others from now on, for cells that are at home here. */
  void answer(CellViews views) {
    lines.answer(self, asked -> answer(asked, views));
  }

  private byte @Nullable [] answer(byte[] asked, CellViews views) {
    try {
      Question question = cbor.readValue(asked, Question.class);
      CellView view = views.of(question.cell());
      return view == null || !isMember(question.node()) ? null : answer(question, view.forOthers());
    } catch (IOException notOurs) {
      throw new UncheckedIOException(notOurs);
    }
  }

  private byte[] answer(Question question, DecisionsForOthers decisions) throws IOException {
    if (question.notices() != null) {
      question.notices().forEach(notice -> decisions.held().hear(question.node(), notice));
    }
    return question.request() == null
        ? HEARD
        : cbor.writeValueAsBytes(decisions.decide(question.request(), question.node(), question.ticket()));
  }

  /**
   * Asks a cell's home.
   *
   * @param notices what it is to hear before
   * @return null when it cannot be asked over a line; completes with null when it passes and has heard nothing, or
   *     fails with a {@link java.util.concurrent.TimeoutException} or an {@link IOException} when it may have
   */
  @Nullable CompletableFuture<@Nullable Decided> ask(
      String cell, DecisionRequest request, long ticket, List<Notice> notices, Duration patience) {
    CompletableFuture<byte @Nullable []> answer = ask(new Question(cell, self, notices, request, ticket), patience);
    return answer == null ? null : answer.thenApply(this::decided);
  }

  /** Tells a cell's home; null or completes with false or a failure when that may not have heard it. */
  @Nullable CompletableFuture<Boolean> tell(String cell, List<Notice> notices, Duration patience) {
    CompletableFuture<byte @Nullable []> answer = ask(new Question(cell, self, notices, null, 0), patience);
    return answer == null ? null : answer.thenApply(Objects::nonNull);
  }

  private @Nullable CompletableFuture<byte @Nullable []> ask(Question question, Duration patience) {
    CellNodes nodes = nodesByCell.of(question.cell());
    if (nodes == null || nodes.linePort() == 0 || !isMember(nodes.home()) || nodes.home().equals(self)) {
      return null;
    }
    LineAddress home = new LineAddress(nodes.home(), NodeNames.host(nodes.home()), nodes.linePort());
    try {
      return lines.ask(home, cbor.writeValueAsBytes(question), patience);
    } catch (JsonProcessingException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }

  private @Nullable Decided decided(byte @Nullable [] answer) {
    try {
      return answer == null ? null : cbor.readValue(answer, Decided.class);
    } catch (IOException notOurs) {
      throw new UncheckedIOException(notOurs);
    }
  }

  private boolean isMember(String node) {
    return nodesByCell.nodes().containsKey(node);
  }
}
