package io.kvasir.cell.ways;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.home.Cell;
import io.kvasir.cell.ledger.Notice;
import io.kvasir.cell.ledger.OpenLoad;
import io.kvasir.cell.ledger.Tickets;
import io.kvasir.cell.view.CellMetrics;
import io.kvasir.cell.view.Decided;
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
import java.util.function.LongSupplier;
import org.apache.pekko.cluster.sharding.typed.javadsl.EntityRef;
import org.jspecify.annotations.Nullable;

/**
 * The home of a cell on another node, as this node talks to it: over the line to it, and over the cluster when there is
 * none or the cell is not there any more. Notices of a moment go together, with the next question or without, since
 * each message costs both nodes more than what it says. What is said before a question is heard before it. Thread-safe.
 */
final class CellHome implements Told {
  private final EntityRef<Cell.Message> home;
  private final String node;
  private final DecisionLines lines;
  private final Duration patience;
  private final Executor soon;
  private final CellMetrics metrics;
  private final LongSupplier nanos;
  private final Queue<Notice> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean willTell = new AtomicBoolean();

  /** A home's answer and the number of the question it answers. */
  record Answer(Decided decided, long ticket) {}

  /**
   * The homes that a cell has, one after the other.
   *
   * @param node this node's name there
   * @param patience how long an answer is waited for
   * @param soon runs something a moment later, on a thread that may wait: notices of meanwhile go together
   */
  CellHome(
      EntityRef<Cell.Message> home,
      String node,
      DecisionLines lines,
      Duration patience,
      Executor soon,
      CellMetrics metrics,
      LongSupplier nanos) {
    this.home = home;
    this.node = node;
    this.lines = lines;
    this.patience = patience;
    this.soon = soon;
    this.metrics = metrics;
    this.nanos = nanos;
  }

  /** Asks; null when no home answers in time. What is booked by then or later for nobody is given back. */
  @Nullable Answer ask(DecisionRequest request, Tickets tickets) {
    long begun = nanos.getAsLong();
    long ticket = tickets.next();
    CompletableFuture<@Nullable Decided> answer = askOverLine(request, ticket);
    if (answer != null) {
      try {
        Decided decided = answer.join();
        if (decided != null) {
          metrics.decidedAway("line", nanos.getAsLong() - begun);
          return new Answer(decided, ticket);
        }
      } catch (CompletionException failed) {
        home.tell(new Cell.Abandon(node, ticket));
        if (failed.getCause() instanceof TimeoutException) {
          return null;
        }
      }
    }
    return askOverCluster(request, tickets.next());
  }

  private synchronized @Nullable CompletableFuture<@Nullable Decided> askOverLine(
      DecisionRequest request, long ticket) {
    List<Notice> along = take();
    CompletableFuture<@Nullable Decided> answer =
        lines.ask(home.getEntityId(), request, ticket, along, patience);
    if (answer == null) {
      tellOverCluster(along);
      return null;
    }
    return answer.whenComplete((decided, _) -> {
      if (decided == null) {
        tellOverCluster(along);
      }
    });
  }

  private @Nullable Answer askOverCluster(DecisionRequest request, long ticket) {
    long begun = nanos.getAsLong();
    try {
      Decided decided =
          home.<Decided>ask(replyTo -> new Cell.Decide(request, node, ticket, replyTo), patience)
              .toCompletableFuture()
              .join();
      metrics.decidedAway("cluster", nanos.getAsLong() - begun);
      return new Answer(decided, ticket);
    } catch (CompletionException late) {
      home.tell(new Cell.Abandon(node, ticket));
      return null;
    }
  }

  @Override
  public void notice(Notice notice) {
    waiting.add(notice);
    if (willTell.compareAndSet(false, true)) {
      soon.execute(this::tell);
    }
  }

  @Override
  public void declare(long incarnation, List<OpenLoad> loads) {
    home.tell(new Cell.Declare(node, incarnation, loads));
  }

  private synchronized void tell() {
    willTell.set(false);
    List<Notice> told = take();
    if (!told.isEmpty()) {
      CompletableFuture<Boolean> heard = lines.tell(home.getEntityId(), told, patience);
      if (heard == null) {
        tellOverCluster(told);
      } else {
        var _ = heard.whenComplete((done, _) -> {
          if (done == null || !done) {
            tellOverCluster(told);
          }
        });
      }
    }
  }

  private List<Notice> take() {
    List<Notice> taken = new ArrayList<>();
    for (Notice notice = waiting.poll(); notice != null; notice = waiting.poll()) {
      taken.add(notice);
    }
    return taken;
  }

  /** Perhaps once more: twice does no harm. */
  private void tellOverCluster(List<Notice> notices) {
    if (!notices.isEmpty()) {
      home.tell(new Cell.Notices(node, notices));
    }
  }
}
