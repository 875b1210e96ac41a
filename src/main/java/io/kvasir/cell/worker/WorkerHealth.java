package io.kvasir.cell.worker;

import io.kvasir.cell.CellSettings.HealthSettings;
import io.kvasir.cell.WorkerStatus.Health;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Whether requests may go to a worker: its pod can be reached ({@link PodContact}), it moves ({@link Progress}) and
 * does not answer with errors ({@link Circuit}). Thread-safe; time comes in, in nanoseconds.
 */
public final class WorkerHealth {
  private final PodContact contact;
  private final Progress progress;
  private final Circuit circuit;
  private Health told = Health.UNKNOWN;

  /** A worker's state, and why it gets nothing; empty while it is well. */
  public record State(Health health, String why) {}

  /** A worker that has not been heard of. What changes is told to {@code revision}. */
  public WorkerHealth(HealthSettings settings, PodContact contact, long now, Revision revision) {
    this.contact = contact;
    this.progress = new Progress(settings.wedge(), now, revision);
    this.circuit = new Circuit(settings, revision);
  }

  /** Whether its pod can be reached; shared with the pod's other ranks. */
  public PodContact contact() {
    return contact;
  }

  /** Whether it moves. */
  public Progress progress() {
    return progress;
  }

  /** Whether it answers with errors. */
  public Circuit circuit() {
    return circuit;
  }

  /** Whether requests may go there as far as its {@link #circuit} passes them. */
  boolean well() {
    return contact.well() && !progress.wedged();
  }

  State state(long now) {
    return !contact.well() ? new State(contact.state(), contact.why())
        : progress.wedged()
            ? new State(
                Health.WEDGED,
                "it has requests and nothing has come of them for %d ms"
                    .formatted(TimeUnit.NANOSECONDS.toMillis(progress.stillFor(now))))
        : !circuit.passes(now) ? new State(Health.UNHEALTHY, "its circuit is open after a run of error answers")
        : new State(Health.HEALTHY, "");
  }

  /** Its state if it is another than when this was last asked, otherwise null. Asked by the cell's actor alone. */
  public @Nullable State change(long now) {
    State state = state(now);
    if (state.health() == told) {
      return null;
    }
    told = state.health();
    return state;
  }

  /** An answer came that was not the worker's failure. */
  public void answered(long now) {
    contact.answered();
    circuit.answered();
    progress.moved(now);
  }

  /** The worker answered with an error of its own. */
  public void failed(long now) {
    circuit.failed(now);
  }
}
