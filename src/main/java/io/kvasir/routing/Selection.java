package io.kvasir.routing;

import io.kvasir.index.Chain;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The result of one pass of a {@link Selector}. */
public sealed interface Selection {
  /** What stands before what is pulled, in the reason of a decision by which anything is. */
  String PULLED = "; pull=";

  /**
   * A worker was chosen and the load booked on it.
   *
   * @param profile name of the profile that chose
   * @param role role of the decided step
   * @param slot the worker's slot
   * @param worker the worker
   * @param alternatives the next best workers, best first, nothing booked on them; at most three
   * @param booking the booked load
   * @param localBooking the load of a local prefill: the same, unless the worker receives the prompt from another
   * @param queueMs estimated milliseconds of work that was queued there before
   * @param depth leading blocks of the chain that the worker holds
   * @param chain the prompt's blocks as the worker's engine prepares it
   * @param predictedCachedTokens tokens that the engine should report as cached
   * @param bestCachedTokens the most that any worker's should that passed the filters, with room or without
   * @param candidates how many workers were candidates
   * @param full how many better ranked workers had no capacity
   * @param busy the worker that was picked first and has more queued than a {@link QueueLimit} allows, when this one is
   *     expected to begin the request earlier; null when there was none
   * @param onFailure policy when the worker fails
   * @param pull what the worker takes from another one's memory, null for nothing; it counts as cached
   */
  record Chosen(
      String profile,
      Role role,
      int slot,
      Worker worker,
      List<Worker> alternatives,
      Booking booking,
      Booking localBooking,
      double queueMs,
      int depth,
      Chain chain,
      int predictedCachedTokens,
      int bestCachedTokens,
      int candidates,
      int full,
      @Nullable Worker busy,
      FailurePolicy onFailure,
      @Nullable KvPull pull)
      implements Selection {

    /**
     * The decision in one line for {@code X-Router-Reason}, such as
     * {@code expected-cost; depth=12/24; cached=192/389; candidates=4}, with {@code best=320} behind it where another
     * worker held more, {@code pull=320@vllm-1} where it takes that from there, and {@code busy=vllm-2} where it would
     * have been held for that one: printable ASCII, below 160 characters besides the names in it.
     */
    public String reason() {
      String reason =
          profile + "; depth=" + depth + "/" + blocks() + "; cached=" + predictedCachedTokens + "/"
              + booking.promptTokens() + "; candidates=" + candidates + best();
      String pulled = pull == null ? reason : reason + PULLED + pull.tokens() + "@" + pull.worker();
      return (full == 0 ? pulled : pulled + "; full=" + full) + insteadOf();
    }

    /** The busy worker, as a part of a reason; empty where there was none. */
    public String insteadOf() {
      return busy == null ? "" : "; busy=" + busy.id();
    }

    /** What another worker held, as a part of a reason; empty where none held more. */
    public String best() {
      return bestCachedTokens == predictedCachedTokens ? "" : "; best=" + bestCachedTokens;
    }

    /** The number of the prompt's blocks. */
    public int blocks() {
      return chain.length();
    }

    /** Whether the worker computes the prompt itself; otherwise it receives the prompt's KV blocks. */
    public boolean readsPrompt() {
      return role != Role.ENCODE && booking.equals(localBooking);
    }

    /** The worker's step in a plan, with the profile's failure policy. */
    public RoutingPlan.Step step(String name) {
      return step(name, onFailure, null);
    }

    /** The worker's step in a plan, with a failure policy and a deadline of the workflow. */
    public RoutingPlan.Step step(String name, FailurePolicy policy, @Nullable Duration deadline) {
      return new RoutingPlan.Step(name, role, worker, readsPrompt(), alternatives, policy, deadline, pull);
    }
  }

  /**
   * No worker could be chosen and nothing is booked.
   *
   * @param unmetNeed what the fleet lacks
   * @param detail the same as a sentence
   */
  record None(UnmetNeed unmetNeed, String detail) implements Selection {}
}
