package io.kvasir.cell.client;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.home.Cell;
import io.kvasir.cell.ledger.CorrelationIds;
import io.kvasir.cell.ledger.InFlightLoad;
import io.kvasir.cell.ledger.ReservationEvent;
import io.kvasir.cell.view.CellMetrics;
import io.kvasir.cell.view.DecisionReply;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.pekko.cluster.sharding.typed.javadsl.EntityRef;
import org.jspecify.annotations.Nullable;

/**
 * The home of a cell on another node, as this node talks to it: over the line to it, and over the cluster when there is
 * none or the cell is not there any more. Notices of a moment go together, with the next question or without, since
 * each message costs both nodes more than what it says. What is said before a question is heard before it. Thread-safe.
 */
final class CellHomeClient implements HomeNotifier {
  private final EntityRef<Cell.Message> home;
  private final String node;
  private final PeerDecisions peerDecisions;
  private final Duration timeout;
  private final Executor delayed;
  private final CellMetrics metrics;
  private final NanoClock clock;
  private final Queue<ReservationEvent> pending = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean flushScheduled = new AtomicBoolean();

  /** A home's answer and the number of the question it answers. */
  record HomeReply(DecisionReply reply, long correlationId) {}

  /**
   * The homes that a cell has, one after the other.
   *
   * @param node this node's name there
   * @param patience how long an answer is waited for
   * @param soon runs something a moment later, on a thread that may wait: notices of meanwhile go together
   */
  CellHomeClient(
      EntityRef<Cell.Message> home,
      String node,
      PeerDecisions lines,
      Duration patience,
      Executor soon,
      CellMetrics metrics,
      NanoClock clock) {
    this.home = home;
    this.node = node;
    this.peerDecisions = lines;
    this.timeout = patience;
    this.delayed = soon;
    this.metrics = metrics;
    this.clock = clock;
  }

  /** Asks; null when no home answers in time. What is booked by then or later for nobody is given back. */
  @Nullable HomeReply query(DecisionRequest request, CorrelationIds tickets) {
    long begun = clock.nanos();
    long ticket = tickets.next();
    CompletableFuture<@Nullable DecisionReply> answer = queryPeer(request, ticket);
    if (answer != null) {
      try {
        DecisionReply decided = answer.join();
        if (decided != null) {
          metrics.decidedRemotely("line", clock.nanos() - begun);
          return new HomeReply(decided, ticket);
        }
      } catch (CompletionException failed) {
        home.tell(new Cell.Abandon(node, ticket));
        if (failed.getCause() instanceof TimeoutException) {
          return null;
        }
      }
    }
    return queryCluster(request, tickets.next());
  }

  private synchronized @Nullable CompletableFuture<@Nullable DecisionReply> queryPeer(
      DecisionRequest request, long ticket) {
    List<ReservationEvent> along = take();
    CompletableFuture<@Nullable DecisionReply> answer =
        peerDecisions.query(home.getEntityId(), request, ticket, along, timeout);
    if (answer == null) {
      sendOverCluster(along);
      return null;
    }
    return answer.whenComplete((decided, _) -> {
      if (decided == null) {
        sendOverCluster(along);
      }
    });
  }

  /** The cell's name. */
  String cell() {
    return home.getEntityId();
  }

  /** Has the home explain how it would decide; null when it does not answer in time. */
  @Nullable DecisionRecord explain(DecisionRequest request) {
    try {
      return home.<Cell.Explained>ask(replyTo -> new Cell.Explain(request, replyTo), timeout)
          .toCompletableFuture()
          .join()
          .record();
    } catch (CompletionException late) {
      return null;
    }
  }

  private @Nullable HomeReply queryCluster(DecisionRequest request, long ticket) {
    long begun = clock.nanos();
    try {
      DecisionReply decided =
          home.<DecisionReply>ask(replyTo -> new Cell.Decide(request, node, ticket, replyTo), timeout)
              .toCompletableFuture()
              .join();
      metrics.decidedRemotely("cluster", clock.nanos() - begun);
      return new HomeReply(decided, ticket);
    } catch (CompletionException late) {
      home.tell(new Cell.Abandon(node, ticket));
      return null;
    }
  }

  @Override
  public void reservationChanged(ReservationEvent notice) {
    pending.add(notice);
    if (flushScheduled.compareAndSet(false, true)) {
      delayed.execute(this::flush);
    }
  }

  @Override
  public void declare(long incarnation, List<InFlightLoad> loads) {
    home.tell(new Cell.Declare(node, incarnation, loads));
  }

  private synchronized void flush() {
    flushScheduled.set(false);
    List<ReservationEvent> told = take();
    if (!told.isEmpty()) {
      CompletableFuture<Boolean> heard = peerDecisions.send(home.getEntityId(), told, timeout);
      if (heard == null) {
        sendOverCluster(told);
      } else {
        var _ = heard.whenComplete((done, _) -> {
          if (done == null || !done) {
            sendOverCluster(told);
          }
        });
      }
    }
  }

  private List<ReservationEvent> take() {
    List<ReservationEvent> taken = new ArrayList<>();
    for (ReservationEvent notice = pending.poll(); notice != null; notice = pending.poll()) {
      taken.add(notice);
    }
    return taken;
  }

  /** Perhaps once more: twice does no harm. */
  private void sendOverCluster(List<ReservationEvent> notices) {
    if (!notices.isEmpty()) {
      home.tell(new Cell.ReservationEvents(node, notices));
    }
  }
}
