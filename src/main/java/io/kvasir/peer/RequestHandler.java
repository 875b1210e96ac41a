package io.kvasir.peer;

import org.jspecify.annotations.Nullable;

/** Answers what other nodes ask. Called by one thread per node that asks, so it should not wait for long. */
@FunctionalInterface
public interface RequestHandler {
  /** The answer, not empty; null when it cannot be given here, and the question is to go another way. */
  byte @Nullable [] handle(byte[] question);
}
