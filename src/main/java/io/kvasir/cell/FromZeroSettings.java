package io.kvasir.cell;

import java.time.Duration;
import java.util.Set;

/**
 * What an operator can set about models that may have no worker for a while: requests for them wait for the first one.
 * Immutable.
 *
 * @param models base models, as requests name them; they are known without a worker
 * @param longestWait how long such a request waits
 * @param mostWaiting such requests of a node, at least 1; further ones are refused
 */
public record FromZeroSettings(Set<String> models, Duration longestWait, int mostWaiting) {
  /** Every model always has a worker. */
  public static final FromZeroSettings NONE = new FromZeroSettings(Set.of(), Duration.ZERO, 1);

  /** Copies the set. */
  public FromZeroSettings {
    models = Set.copyOf(models);
  }
}
