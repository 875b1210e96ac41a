package io.kvasir.cell.client;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.home.Cell;
import io.kvasir.cell.ledger.CorrelationIds;
import io.kvasir.cell.ledger.InFlightLoad;
import io.kvasir.cell.ledger.OpenReservations;
import io.kvasir.cell.ledger.ReservationEvent;
import io.kvasir.cell.view.CellMetrics;
import io.kvasir.cell.view.DecisionRecorder;
import io.kvasir.cell.view.DecisionReply;
import io.kvasir.cell.view.DecisionServer.HoldReply;
import io.kvasir.cell.view.DecisionServer.TurnReply;
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
final class CellHomeClient implements CellHome {
  static final String NO_ANSWER = "the cell's home does not answer";

  private final EntityRef<Cell.Message> home;
  private final String node;
  private final PeerDecisions peerDecisions;
  private final Duration timeout;
  private final int maxClusterBlocks;
  private final Executor delayed;
  private final CellMetrics metrics;
  private final NanoClock clock;
  private final Queue<ReservationEvent> pending = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean flushScheduled = new AtomicBoolean();

  /**
   * A client of a cell's home, whichever node that is at the time.
   *
   * @param home the cell as a sharded entity
   * @param node this node's name
   * @param timeout how long a reply may take
   * @param maxClusterBlocks the most blocks of a prompt in a message of the cluster, which drops what is too long
   * @param delayed runs a task a moment later, on a thread that may wait: events of that moment go together
   */
  CellHomeClient(
      EntityRef<Cell.Message> home,
      String node,
      PeerDecisions peerDecisions,
      Duration timeout,
      int maxClusterBlocks,
      Executor delayed,
      CellMetrics metrics,
      NanoClock clock) {
    this.home = home;
    this.node = node;
    this.peerDecisions = peerDecisions;
    this.timeout = timeout;
    this.maxClusterBlocks = maxClusterBlocks;
    this.delayed = delayed;
    this.metrics = metrics;
    this.clock = clock;
  }

  @Override
  public QueryResult query(DecisionRequest request, long correlationId, CorrelationIds ids) {
    long startNanos = clock.nanos();
    CompletableFuture<@Nullable DecisionReply> answer = queryPeer(request, correlationId);
    if (answer != null) {
      try {
        DecisionReply reply = answer.join();
        if (reply != null) {
          metrics.decidedRemotely(Decision.Way.LINE, clock.nanos() - startNanos);
          return new QueryResult.Replied(reply, correlationId, Decision.Way.LINE);
        }
      } catch (CompletionException failed) {
        abandon(correlationId);
        if (failed.getCause() instanceof TimeoutException) {
          return new QueryResult.Late();
        }
      }
    }
    return fitsCluster(request)
        ? queryCluster(request, ids.next())
        : new QueryResult.Unsent(tooLong(request));
  }

  private boolean fitsCluster(DecisionRequest request) {
    return request.prompt().blocks() <= maxClusterBlocks;
  }

  private static String tooLong(DecisionRequest request) {
    return "the prompt has "
        + request.prompt().blocks()
        + " blocks, too many for remoting, and there is no peer connection to the cell's home";
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

  @Override
  public CompletableFuture<List<TurnReply>> turns(List<Long> correlationIds) {
    return home.<Cell.Turns>ask(replyTo -> new Cell.FetchTurns(node, correlationIds, replyTo), timeout)
        .toCompletableFuture()
        .thenApply(Cell.Turns::over);
  }

  @Override
  public CompletableFuture<List<HoldReply>> holds(List<Long> reservations) {
    return home.<Cell.Holds>ask(replyTo -> new Cell.FetchHolds(node, reservations, replyTo), timeout)
        .toCompletableFuture()
        .thenApply(Cell.Holds::over);
  }

  @Override
  public void abandon(long correlationId) {
    home.tell(new Cell.Abandon(node, correlationId));
  }

  @Override
  public String cell() {
    return home.getEntityId();
  }

  @Override
  public DecisionRecord explain(DecisionRequest request) {
    CompletableFuture<@Nullable DecisionRecord> answer = peerDecisions.explain(cell(), request, timeout);
    if (answer != null) {
      try {
        DecisionRecord record = answer.join();
        if (record != null) {
          return record;
        }
      } catch (CompletionException failed) {
        if (failed.getCause() instanceof TimeoutException) {
          return unexplained(request, NO_ANSWER);
        }
      }
    }
    return fitsCluster(request) ? explainOverCluster(request) : unexplained(request, tooLong(request));
  }

  private DecisionRecord explainOverCluster(DecisionRequest request) {
    try {
      return home.<Cell.Explained>ask(replyTo -> new Cell.Explain(request, replyTo), timeout)
          .toCompletableFuture()
          .join()
          .record();
    } catch (CompletionException late) {
      return unexplained(request, NO_ANSWER);
    }
  }

  private DecisionRecord unexplained(DecisionRequest request, String why) {
    return DecisionRecorder.withoutCandidates(
        cell(), request, new Decision.NoWorker(Decision.NoWorkerReason.NO_HOME, why));
  }

  private QueryResult queryCluster(DecisionRequest request, long correlationId) {
    long startNanos = clock.nanos();
    try {
      DecisionReply reply =
          home.<DecisionReply>ask(replyTo -> new Cell.Decide(request, node, correlationId, replyTo), timeout)
              .toCompletableFuture()
              .join();
      metrics.decidedRemotely(Decision.Way.CLUSTER, clock.nanos() - startNanos);
      return new QueryResult.Replied(reply, correlationId, Decision.Way.CLUSTER);
    } catch (CompletionException late) {
      abandon(correlationId);
      return new QueryResult.Late();
    }
  }

  @Override
  public void reservationChanged(ReservationEvent event) {
    pending.add(event);
    if (event.kind() == ReservationEvent.Kind.SENT) {
      // Another request waits for it.
      var _ = Thread.ofVirtual().start(this::flush);
    } else if (flushScheduled.compareAndSet(false, true)) {
      delayed.execute(this::flush);
    }
  }

  @Override
  public void declare(long incarnation, List<InFlightLoad> loads) {
    home.tell(new Cell.Declare(node, incarnation, loads));
  }

  @Override
  public CompletableFuture<Boolean> declareOpen(OpenReservations open) {
    CompletableFuture<Boolean> delivered = sendToPeer(open);
    return delivered == null
        ? declareOverCluster(open)
        : delivered
            .exceptionally(_ -> false)
            .thenCompose(
                done -> done ? CompletableFuture.completedFuture(true) : declareOverCluster(open));
  }

  private CompletableFuture<Boolean> declareOverCluster(OpenReservations open) {
    return home.<Cell.OpenDeclared>ask(replyTo -> new Cell.DeclareOpen(node, open, replyTo), timeout)
        .toCompletableFuture()
        .handle((_, late) -> late == null);
  }

  private void flush() {
    flushScheduled.set(false);
    if (!pending.isEmpty()) {
      var _ = sendToPeer(null);
    }
  }

  /** Sends what is pending, over the cluster if need be, and then to the peer alone what is open here. */
  private synchronized @Nullable CompletableFuture<Boolean> sendToPeer(@Nullable OpenReservations open) {
    List<ReservationEvent> events = take();
    CompletableFuture<Boolean> delivered = peerDecisions.send(cell(), events, open, timeout);
    if (delivered == null) {
      sendOverCluster(events);
      return null;
    }
    return delivered.whenComplete((done, _) -> {
      if (done == null || !done) {
        sendOverCluster(events);
      }
    });
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
