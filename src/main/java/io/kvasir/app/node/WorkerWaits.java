package io.kvasir.app.node;

import io.kvasir.admission.AdmissionSettings;
import io.kvasir.cell.FromZeroSettings;
import io.kvasir.telemetry.Problem;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;

/**
 * What becomes of requests while no worker can serve them: they wait for one, or are refused.
 *
 * @param forAnswer how long they wait for a worker that is known, and does not answer; zero: not at all
 * @param fromZero the models whose requests wait for their first worker, too
 */
record WorkerWaits(Duration forAnswer, FromZeroSettings fromZero) {
  private static final int MAX_NAMED = 5;

  static WorkerWaits of(AdmissionSettings admission, FromZeroSettings fromZero) {
    return new WorkerWaits(admission.on() ? admission.waitForWorkers() : Duration.ZERO, fromZero);
  }

  /** Of those for a model that has workers, none of which answers. */
  String ofRequestsFor(String model) {
    Duration longest =
        fromZero.models().contains(model) && fromZero.longestWait().compareTo(forAnswer) > 0
            ? fromZero.longestWait()
            : forAnswer;
    return longest.isZero() ? "its requests are refused" : "its requests wait for one, " + upTo(longest);
  }

  /** Of all while no worker answers. */
  String ofAll() {
    return forAnswer.isZero() ? ofAllWithoutWorkers() : "requests wait for one, " + upTo(forAnswer);
  }

  /** Of all while no worker is known. */
  String ofAllWithoutWorkers() {
    Set<String> models = fromZero.models();
    if (models.isEmpty() || fromZero.longestWait().isZero()) {
      return "every request is refused";
    }
    return "requests for %s wait for one, %s; all others are refused".formatted(
        Problem.named(new TreeSet<>(models), MAX_NAMED), upTo(fromZero.longestWait()));
  }

  private static String upTo(Duration longest) {
    return "up to %d s".formatted(longest.toSeconds());
  }
}
