package io.kvasir.cell.client;

import io.kvasir.cell.PrefixHold;
import io.kvasir.cell.view.DecisionServer.HoldReply;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/**
 * This node's requests that are held until earlier ones, which a cell's home on another node knows, have computed the
 * blocks that they count on, or have been sent. Thread-safe.
 */
final class RemoteHolds {
  /** Between two looks whether a request is still to be sent. */
  private static final long LOOK_MILLIS = 16;

  /** What is only to be sent is soon. */
  private static final Duration FIRST_INTERVAL = Duration.ofMillis(2);

  private final HomeFetches<PrefixHold> holds;

  /**
   * None is held yet.
   *
   * @param silence of the home after which requests go without
   */
  RemoteHolds(CellHome home, Duration silence, NanoClock clock) {
    this.holds =
        new HomeFetches<>("kvasir-holds-of-" + home.cell(), FIRST_INTERVAL, new Holds(home), silence, clock);
  }

  private record Holds(CellHome home) implements HomeFetches.Source<PrefixHold> {
    @Override
    public CompletableFuture<Map<Long, PrefixHold>> fetch(List<Long> ids) {
      return home.holds(ids).thenApply(over ->
          over.stream().collect(Collectors.toMap(HoldReply::reservation, Holds::ended)));
    }

    /** It was held when the home decided. */
    private static PrefixHold ended(HoldReply reply) {
      return reply.hold() == PrefixHold.NONE ? PrefixHold.COMPUTED : reply.hold();
    }

    @Override
    public PrefixHold ofSilence() {
      return PrefixHold.UNKNOWN;
    }
  }

  /**
   * Waits until a held request may go.
   *
   * @param reservation this node's id of what is booked for it
   * @param cancelled whether it is not to be sent any more
   */
  PrefixHold await(long reservation, BooleanSupplier cancelled) {
    CompletableFuture<PrefixHold> result = holds.begin(reservation);
    try {
      while (!cancelled.getAsBoolean()) {
        try {
          return result.get(LOOK_MILLIS, TimeUnit.MILLISECONDS);
        } catch (TimeoutException held) {
          // Another look.
        }
      }
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException impossible) {
      throw new IllegalStateException(impossible);
    } finally {
      holds.forget(reservation);
    }
    return PrefixHold.CANCELLED;
  }
}
