package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * A step that runs: one request to its worker, or several. Immutable.
 *
 * @param id unique in its workflow
 * @param chosen the step's worker, and the load booked on it
 * @param hedge whether this is the second of two runs of the same step
 * @param stopped whether the run was aborted, so that its results are ignored
 * @param open requests that have not ended
 * @param answers the responses' bodies, one for each request, empty until it has ended
 */
record StepRun(int id, Decision.Chosen chosen, boolean hedge, boolean stopped, int open, List<byte[]> answers) {
  private static final byte[] NONE = {};

  static StepRun started(int id, Decision.Chosen chosen, boolean hedge, int requests) {
    return new StepRun(id, chosen, hedge, false, requests, Collections.nCopies(requests, NONE));
  }

  String name() {
    return chosen.step().name();
  }

  StepRun withStopped() {
    return new StepRun(id, chosen, hedge, true, open, answers);
  }

  /** The run after a request has ended. */
  StepRun withRequestEnded() {
    return new StepRun(id, chosen, hedge, stopped, open - 1, answers);
  }

  StepRun withAnswer(int request, byte[] answer) {
    List<byte[]> all = new ArrayList<>(answers);
    all.set(request, answer);
    return new StepRun(id, chosen, hedge, stopped, open, Collections.unmodifiableList(all));
  }
}
