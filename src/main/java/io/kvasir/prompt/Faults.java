package io.kvasir.prompt;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The exceptions that nobody expected, by class and place: each is worth one line in the log, and a client that can
 * cause it can do so a thousand times a second. Thread-safe.
 */
final class Faults {
  /** A place is one of the code's; this many would be a fault of their own. */
  private static final int MAX_PLACES = 64;

  private final Set<String> places = ConcurrentHashMap.newKeySet();

  /** Whether no exception of this class was thrown there before. */
  boolean isNew(RuntimeException thrown) {
    StackTraceElement[] stack = thrown.getStackTrace();
    String place = thrown.getClass().getName() + (stack.length == 0 ? "" : " " + stack[0]);
    return !places.contains(place) && places.size() < MAX_PLACES && places.add(place);
  }
}
