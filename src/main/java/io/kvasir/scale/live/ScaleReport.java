package io.kvasir.scale.live;

import io.kvasir.scale.ScaleAdvice;
import io.kvasir.scale.ScaleAdvice.Activity;
import io.kvasir.scale.ScaleTarget;
import java.util.List;
import java.util.Optional;

/**
 * The advice for every target at a moment. Immutable.
 *
 * @param targets by model and role
 * @param missingCells cells whose home did not answer: their workers count as they were when it last did
 * @param missingNodes addresses of nodes that cannot be reached
 */
public record ScaleReport(List<ScaleAdvice> targets, List<String> missingCells, List<String> missingNodes) {
  /** Nothing is known yet. */
  public static final ScaleReport NONE = new ScaleReport(List.of(), List.of(), List.of());

  /** Whether anything is known of no target: its workers may all be found yet. */
  public boolean knowsNothing() {
    return targets.stream().allMatch(advice -> advice.activity() == Activity.UNKNOWN);
  }

  /** Whether a target has anything to do: one that is not known among others has nothing. */
  public Activity activity(ScaleTarget target) {
    return knowsNothing() ? Activity.UNKNOWN : of(target).map(ScaleAdvice::activity).orElse(Activity.IDLE);
  }

  /** The advice for a target, empty when no worker of it is known and it may not go without. */
  public Optional<ScaleAdvice> of(ScaleTarget target) {
    return targets.stream().filter(advice -> advice.target().equals(target)).findFirst();
  }
}
