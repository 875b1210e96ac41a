package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A step that runs: one request to its worker, or several. Immutable.
 *
 * @param id unique in its workflow
 * @param chosen the step's worker, and the load booked on it
 * @param hedge whether this is the second of two runs of the same step
 * @param stopped whether the run was aborted, so that its results are ignored
 * @param requests how many it has
 * @param open requests that have not ended
 * @param latest the answer that came last, null before the first
 */
record StepRun(
    int id, Decision.Chosen chosen, boolean hedge, boolean stopped, int requests, int open, @Nullable Answer latest) {
  private static final byte[] NONE = {};

  /**
   * A response, and those before it: another one is added without copying them.
   *
   * @param request the request's number within the run
   * @param body the response's body
   * @param before the answer that came before, null for the first
   */
  record Answer(int request, byte[] body, @Nullable Answer before) {}

  static StepRun started(int id, Decision.Chosen chosen, boolean hedge, int requests) {
    return new StepRun(id, chosen, hedge, false, requests, requests, null);
  }

  String name() {
    return chosen.step().name();
  }

  /** The responses' bodies in the order of their requests, empty for those without one. */
  List<byte[]> answers() {
    byte[][] all = new byte[requests][];
    Arrays.fill(all, NONE);
    for (Answer answer = latest; answer != null; answer = answer.before()) {
      all[answer.request()] = answer.body();
    }
    return List.of(all);
  }

  StepRun withStopped() {
    return new StepRun(id, chosen, hedge, true, requests, open, latest);
  }

  /** The run after a request has ended. */
  StepRun withRequestEnded() {
    return new StepRun(id, chosen, hedge, stopped, requests, open - 1, latest);
  }

  StepRun withAnswer(int request, byte[] body) {
    return new StepRun(id, chosen, hedge, stopped, requests, open, new Answer(request, body, latest));
  }
}
