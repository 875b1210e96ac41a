package io.kvasir.kubernetes.inference;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What was read from an object.
 *
 * @param value null where there are faults
 * @param faults each in a sentence that names the field
 */
record Reading<T>(@Nullable T value, List<String> faults) {
  /** Copies the faults. */
  Reading {
    faults = List.copyOf(faults);
  }
}
