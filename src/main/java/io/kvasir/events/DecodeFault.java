package io.kvasir.events;

/** A fault or an unknown part of a message. */
public enum DecodeFault {
  /** The bytes end before the message does. */
  TRUNCATED(true),
  /** Not msgpack, or a known field of a wrong type. */
  MALFORMED(true),
  /** More hashes or tokens in one event than any engine sends. */
  TOO_LARGE(true),
  /** An event of an unknown kind: skipped. */
  UNKNOWN_EVENT(false),
  /** An unknown field: skipped. */
  UNKNOWN_FIELD(false),
  /** An unknown storage medium: taken for the farthest tier. */
  UNKNOWN_MEDIUM(false);

  private final boolean lossy;

  DecodeFault(boolean lossy) {
    this.lossy = lossy;
  }

  /** Whether an event of a known kind was lost. */
  public boolean lossy() {
    return lossy;
  }
}
