package io.kvasir.events;

/** What can be wrong or unfamiliar in a message. */
public enum DecodeFault {
  /** The bytes end before the message does. */
  TRUNCATED(true),
  /** Not msgpack, or a known field of a wrong type. */
  MALFORMED(true),
  /** More hashes or tokens in one event than any engine sends. */
  TOO_LARGE(true),
  /** An event of a kind we do not know: skipped. */
  UNKNOWN_EVENT(false),
  /** A field we do not know: skipped. */
  UNKNOWN_FIELD(false),
  /** A storage medium we do not know: taken for the farthest tier. */
  UNKNOWN_MEDIUM(false);

  private final boolean lossy;

  DecodeFault(boolean lossy) {
    this.lossy = lossy;
  }

  /** Whether an event we should have understood was lost. */
  public boolean lossy() {
    return lossy;
  }
}
