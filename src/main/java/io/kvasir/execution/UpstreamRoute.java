package io.kvasir.execution;

import io.kvasir.cell.PrefixHold;
import io.kvasir.routing.Worker;
import org.jspecify.annotations.Nullable;

/**
 * The workers a request went to, for the client's headers.
 *
 * @param worker the worker that responded
 * @param prefill the worker that computed the prompt where that was another, null otherwise
 * @param reason why these, and what was done otherwise than planned
 */
public record UpstreamRoute(Worker worker, @Nullable Worker prefill, String reason) {
  private static final String HELD = "; held=";

  /**
   * The same after the request was held for its prefix: that is among what the reason has it held for.
   *
   * @param hold what came of it
   * @param millis how long it took
   */
  public UpstreamRoute held(PrefixHold hold, long millis) {
    boolean wasHeld = reason.startsWith(HELD, Math.max(0, reason.lastIndexOf(';')));
    String how = hold == PrefixHold.COMPUTED ? "" : "; prefix=" + hold.label();
    return new UpstreamRoute(worker, prefill, reason + (wasHeld ? "," : HELD) + "prefix:" + millis + how);
  }
}
