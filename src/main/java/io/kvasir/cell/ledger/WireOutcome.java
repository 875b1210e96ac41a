package io.kvasir.cell.ledger;

import io.kvasir.cell.ClusterMessage;
import io.kvasir.cell.Outcome;

/**
 * An {@link Outcome} as it crosses the cluster: flat, so that it needs no type tags. An unknown model is a failure with
 * a status, and a request that was taken back is a cancelled one with a detail: nodes that know no such outcome read
 * the other.
 *
 * @param kind which outcome
 * @param promptTokens of a completed request
 * @param cachedTokens of a completed request
 * @param outputTokens of a completed request
 * @param ttftMicros of a completed request
 * @param status of a refused request, or of the answer that a model is unknown
 * @param detail of a failed request, or the model that is unknown; of a cancelled request whether it was taken back
 */
public record WireOutcome(
    Kind kind, int promptTokens, int cachedTokens, int outputTokens, long ttftMicros, int status, String detail)
    implements ClusterMessage {

  /** Which outcome. */
  public enum Kind { COMPLETED, CANCELLED, REFUSED, FAILED, LOST_CONTACT }

  private static final String PREEMPTED = "preempted";

  static WireOutcome of(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Completed c ->
          new WireOutcome(
              Kind.COMPLETED, c.promptTokens(), c.cachedTokens(), c.outputTokens(), c.ttftMicros(), 0, "");
      case Outcome.Cancelled ignored -> new WireOutcome(Kind.CANCELLED, 0, 0, 0, 0, 0, "");
      case Outcome.Preempted _ -> new WireOutcome(Kind.CANCELLED, 0, 0, 0, 0, 0, PREEMPTED);
      case Outcome.Refused refused -> new WireOutcome(Kind.REFUSED, 0, 0, 0, 0, refused.status(), "");
      case Outcome.Failed failed ->
          new WireOutcome(failed.transport() ? Kind.LOST_CONTACT : Kind.FAILED, 0, 0, 0, 0, 0, failed.detail());
      case Outcome.UnknownModel unknown ->
          new WireOutcome(Kind.FAILED, 0, 0, 0, 0, unknown.status(), unknown.model());
    };
  }

  Outcome outcome() {
    return switch (kind) {
      case COMPLETED -> new Outcome.Completed(promptTokens, cachedTokens, outputTokens, ttftMicros);
      case CANCELLED -> detail.equals(PREEMPTED) ? new Outcome.Preempted() : new Outcome.Cancelled();
      case REFUSED -> new Outcome.Refused(status);
      case FAILED -> status == 0 ? new Outcome.Failed(false, detail) : new Outcome.UnknownModel(status, detail);
      case LOST_CONTACT -> new Outcome.Failed(true, detail);
    };
  }
}
