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
 * The client of a cell's home on another node. Requests go over the peer connection to it, and over the cluster when
 * there is none or the cell has moved. Reservation events of a moment go in one message, with the next request if there
 * is one, since each message costs both nodes more than its content. The home applies the events that came before a
 * request before it handles that. Thread-safe.
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

  /** A home's reply and the id of the request. */
  record HomeReply(DecisionReply reply, long correlationId) {}

  /**
   * A client of a cell's home, whichever node that is at the time.
   *
   * @param home the cell as a sharded entity
   * @param node this node's name
   * @param timeout how long a reply may take
   * @param delayed runs a task a moment later, on a thread that may wait: events of that moment go together
   */
  CellHomeClient(
      EntityRef<Cell.Message> home,
      String node,
      PeerDecisions peerDecisions,
      Duration timeout,
      Executor delayed,
      CellMetrics metrics,
      NanoClock clock) {
    this.home = home;
    this.node = node;
    this.peerDecisions = peerDecisions;
    this.timeout = timeout;
    this.delayed = delayed;
    this.metrics = metrics;
    this.clock = clock;
  }

  /** Has the home decide; null when none replies in time. What it books by then or later is given back. */
  @Nullable HomeReply query(DecisionRequest request, CorrelationIds ids) {
    long startNanos = clock.nanos();
    long correlationId = ids.next();
    CompletableFuture<@Nullable DecisionReply> answer = queryPeer(request, correlationId);
    if (answer != null) {
      try {
        DecisionReply reply = answer.join();
        if (reply != null) {
          metrics.decidedRemotely("line", clock.nanos() - startNanos);
          return new HomeReply(reply, correlationId);
        }
      } catch (CompletionException failed) {
        home.tell(new Cell.Abandon(node, correlationId));
        if (failed.getCause() instanceof TimeoutException) {
          return null;
        }
      }
    }
    return queryCluster(request, ids.next());
  }

  private synchronized @Nullable CompletableFuture<@Nullable DecisionReply> queryPeer(
      DecisionRequest request, long correlationId) {
    List<ReservationEvent> events = take();
    CompletableFuture<@Nullable DecisionReply> answer =
        peerDecisions.query(home.getEntityId(), request, correlationId, events, timeout);
    if (answer == null) {
      sendOverCluster(events);
      return null;
    }
    return answer.whenComplete((reply, _) -> {
      if (reply == null) {
        sendOverCluster(events);
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

  private @Nullable HomeReply queryCluster(DecisionRequest request, long correlationId) {
    long startNanos = clock.nanos();
    try {
      DecisionReply reply =
          home.<DecisionReply>ask(replyTo -> new Cell.Decide(request, node, correlationId, replyTo), timeout)
              .toCompletableFuture()
              .join();
      metrics.decidedRemotely("cluster", clock.nanos() - startNanos);
      return new HomeReply(reply, correlationId);
    } catch (CompletionException late) {
      home.tell(new Cell.Abandon(node, correlationId));
      return null;
    }
  }

  @Override
  public void reservationChanged(ReservationEvent event) {
    pending.add(event);
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
    List<ReservationEvent> events = take();
    if (!events.isEmpty()) {
      CompletableFuture<Boolean> delivered = peerDecisions.send(home.getEntityId(), events, timeout);
      if (delivered == null) {
        sendOverCluster(events);
      } else {
        var _ = delivered.whenComplete((done, _) -> {
          if (done == null || !done) {
            sendOverCluster(events);
          }
        });
      }
    }
  }

  private List<ReservationEvent> take() {
    List<ReservationEvent> events = new ArrayList<>();
    for (ReservationEvent event = pending.poll(); event != null; event = pending.poll()) {
      events.add(event);
    }
    return events;
  }

  /** Events may arrive twice this way, which changes nothing. */
  private void sendOverCluster(List<ReservationEvent> events) {
    if (!events.isEmpty()) {
      home.tell(new Cell.ReservationEvents(node, events));
    }
  }
}
