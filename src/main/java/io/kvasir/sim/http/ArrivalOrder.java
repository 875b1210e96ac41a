package io.kvasir.sim.http;

import java.util.concurrent.CompletableFuture;

/**
 * The order in which requests came to a server. Those of engines read and give on on one thread; here the threads that
 * answer may overtake each other. Thread-safe.
 */
final class ArrivalOrder {
  private CompletableFuture<Void> last = CompletableFuture.completedFuture(null);

  /** The next place in it, which has to be left, for all that come later wait for that. */
  synchronized Place next() {
    Place place = new Place(last);
    last = place.left;
    return place;
  }

  /** A request's place. */
  static final class Place {
    private final CompletableFuture<Void> before;
    private final CompletableFuture<Void> left = new CompletableFuture<>();

    private Place(CompletableFuture<Void> before) {
      this.before = before;
    }

    /** Waits until all before it are left. */
    void await() {
      before.join();
    }

    /** Leaves it. Idempotent. */
    void leave() {
      CompletableFuture<Void> _ = before.thenRun(() -> left.complete(null));
    }
  }
}
