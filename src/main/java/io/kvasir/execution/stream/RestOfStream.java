package io.kvasir.execution.stream;

import io.kvasir.cell.Outcome;

/**
 * What is known of the request for the rest of a stream.
 *
 * @param prompt tokens of its prompt, {@link Outcome#UNKNOWN} when they are not known
 * @param mustReport whether the engine has to report that prompt before it is believed to go on from it
 * @param usageAdded whether only the router requested usage
 * @param usageInEvents whether the client requested usage in every event
 */
public record RestOfStream(int prompt, boolean mustReport, boolean usageAdded, boolean usageInEvents) {
  /** Whether the engine goes on from the prompt, as far as its report of the prompt's tokens shows. */
  boolean accepts(int reported) {
    boolean known = reported != Outcome.UNKNOWN && prompt != Outcome.UNKNOWN;
    return known ? reported == prompt : !mustReport;
  }
}
