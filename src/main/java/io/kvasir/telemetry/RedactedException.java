package io.kvasir.telemetry;

import java.io.Serial;

/**
 * The stack of an exception for the log, and of its causes, without their messages: those may quote what a client sent.
 */
public final class RedactedException extends Exception {
  @Serial private static final long serialVersionUID = 1L;

  /** Longer chains of causes are cut. */
  private static final int MAX_CAUSES = 8;

  private RedactedException(Throwable original, int causes) {
    super(describe(original), original.getCause() == null || causes == 0 ? null
        : new RedactedException(original.getCause(), causes - 1));
    setStackTrace(original.getStackTrace());
  }

  /** The exception without its messages. */
  public static RedactedException of(Throwable original) {
    return new RedactedException(original, MAX_CAUSES);
  }

  /** The exception's class, with the message where the JVM wrote it: there it names variables and classes. */
  private static String describe(Throwable original) {
    return original instanceof NullPointerException || original instanceof ClassCastException
        ? original.toString()
        : original.getClass().getName();
  }
}
