package io.kvasir.access;

/** The result of checking a request's credentials. */
public sealed interface Authentication {
  /** The credentials are a caller's. */
  record Accepted(Caller caller) implements Authentication {}

  /**
   * The credentials are nobody's.
   *
   * @param message what is wrong and what to do about it, without any part of the credentials
   */
  record Refused(Reason reason, String message) implements Authentication {}

  /**
   * The credentials cannot be checked yet: the same request may be accepted a moment later.
   *
   * @param message what is missing
   */
  record Unavailable(String message) implements Authentication {}

  /** Why credentials were refused: the label of a metric. */
  enum Reason { MISSING, UNKNOWN, EXPIRED, DISABLED, INVALID_TOKEN }
}
