package io.kvasir.execution.stream;

import java.io.IOException;
import java.io.Serial;

/** A worker that was to continue a stream gives something else than its rest. */
public final class DivergedStreamException extends IOException {
  @Serial private static final long serialVersionUID = 1L;

  /** The message has nothing of the texts. */
  DivergedStreamException(String message) {
    super(message);
  }
}
