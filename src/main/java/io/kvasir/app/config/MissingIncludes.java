package io.kvasir.app.config;

import io.kvasir.telemetry.Problem;
import java.util.List;
import java.util.Optional;

/**
 * What a configuration includes that is not there. HOCON takes it for nothing, as an include may be meant so; but its
 * name may be misspelt, or the file have been lost.
 *
 * @param names as they are written
 */
public record MissingIncludes(List<String> names) {
  /** Copies the list. */
  public MissingIncludes {
    names = List.copyOf(names);
  }

  /** What operators have to know of it; nothing where all is there. */
  public Optional<Problem> problem() {
    return names.isEmpty()
        ? Optional.empty()
        : Optional.of(Problem.warning(
            "the configuration includes what is not there: " + String.join(", ", names),
            "write it, take the include out, or make it include required(...), which is a fault then"));
  }
}
