package io.kvasir.cell.client;

import io.kvasir.cell.view.DecisionReply;
import io.kvasir.cell.view.DecisionServer.TurnReply;
import io.kvasir.http.Cancellation;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * This node's requests that wait for their turns at a cell's home on another node, which learns from the fetches of
 * their results, too, that they still wait. Thread-safe.
 */
final class RemoteWaits {
  private final CellHome home;
  private final HomeFetches<Result> turns;

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
    this.turns =
        new HomeFetches<>(
            "kvasir-turns-of-" + home.cell(), HomeFetches.LONGEST_INTERVAL, new Turns(home), silence, clock);
  }

  private record Turns(CellHome home) implements HomeFetches.Source<Result> {
    @Override
    public CompletableFuture<Map<Long, Result>> fetch(List<Long> ids) {
      return home.turns(ids).thenApply(over ->
          over.stream().collect(Collectors.toMap(TurnReply::correlationId, turn -> new Result(turn.reply()))));
    }

    @Override
    public Result ofSilence() {
      return new Result(null);
    }

    @Override
    public void untaken(long id, Result result) {
      if (result.reply() != null) {
        home.abandon(id);
      }
    }
  }

  /** Waits for the turn of a request; null when the client has left, and the home is notified of that. */
  @Nullable Result await(long correlationId, Cancellation client) {
    CompletableFuture<Result> result = turns.begin(correlationId);
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
      turns.forget(correlationId);
    }
    home.abandon(correlationId);
    return null;
  }
}
