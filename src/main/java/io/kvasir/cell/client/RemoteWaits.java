package io.kvasir.cell.client;

import io.kvasir.cell.view.DecisionReply;
import io.kvasir.cell.view.RemoteDecisions.TurnReply;
import io.kvasir.http.Cancellation;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * This node's requests that wait for their turns at a cell's home on another node. While there are any, one thread
 * fetches the results for all of them; the home so learns, too, that they still wait. Thread-safe.
 */
final class RemoteWaits {
  private static final long INTERVAL_MILLIS = 15;

  private final CellHome home;
  private final long silenceNanos;
  private final NanoClock clock;
  private final Map<Long, CompletableFuture<Result>> waiting = new ConcurrentHashMap<>();
  private final AtomicBoolean running = new AtomicBoolean();

  /**
   * What came of a wait.
   *
   * @param reply null when the request is to be sent again: its home does not know it, or does not answer
   */
  record Result(@Nullable DecisionReply reply) {}

  /**
   * Nobody waits yet.
   *
   * @param silence of the home after which requests are sent again
   */
  RemoteWaits(CellHome home, Duration silence, NanoClock clock) {
    this.home = home;
    this.silenceNanos = silence.toNanos();
    this.clock = clock;
  }

  /** Waits for the turn of a request; null when the client has left, and the home is notified of that. */
  @Nullable Result await(long correlationId, Cancellation client) {
    CompletableFuture<Result> result = new CompletableFuture<>();
    waiting.put(correlationId, result);
    start();
    try (Cancellation.Registration _ = client.onCancelled(() -> result.cancel(false))) {
      Result answer = result.get();
      if (answer.reply() == null) {
        // The home may have decided, and the message of that was lost: what it has booked nobody uses.
        home.abandon(correlationId);
      }
      return answer;
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    } catch (CancellationException left) {
      // Nothing is lost with it.
    } catch (ExecutionException impossible) {
      throw new IllegalStateException(impossible);
    } finally {
      waiting.remove(correlationId);
    }
    home.abandon(correlationId);
    return null;
  }

  private void start() {
    if (running.compareAndSet(false, true)) {
      Thread.ofVirtual().name("kvasir-turns-of-" + home.cell()).start(this::run);
    }
  }

  private void run() {
    long answeredNanos = clock.nanos();
    try {
      do {
        while (!waiting.isEmpty()) {
          if (fetch()) {
            answeredNanos = clock.nanos();
          } else if (clock.nanos() - answeredNanos >= silenceNanos) {
            waiting.values().forEach(result -> result.complete(new Result(null)));
          }
          TimeUnit.MILLISECONDS.sleep(INTERVAL_MILLIS);
        }
        running.set(false);
        // Whoever began to wait in between has found this thread running.
      } while (!waiting.isEmpty() && running.compareAndSet(false, true));
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    } catch (Error failed) {
      // The next that waits starts another thread.
      running.set(false);
      throw failed;
    }
  }

  /** Whether the home has answered. */
  private boolean fetch() {
    try {
      for (TurnReply turn : home.turns(List.copyOf(waiting.keySet())).join()) {
        CompletableFuture<Result> result = waiting.get(turn.correlationId());
        DecisionReply reply = turn.reply();
        boolean taken = result != null && result.complete(new Result(reply));
        if (!taken && reply != null) {
          home.abandon(turn.correlationId());
        }
      }
      return true;
    } catch (RuntimeException silent) {
      // Also one that cannot be asked, or answers what is not understood: the thread goes on for those who wait.
      return false;
    }
  }
}
