package io.kvasir.execution;

/** Why somebody else ended a call. */
public enum AbortReason {
  CLIENT_CANCELLED("the client left", false),
  /** Another step of the same plan failed, or another worker was faster. */
  NOT_NEEDED("not needed any more", false),
  FIRST_BYTE_TIMEOUT("no first byte in time", true),
  IDLE_TIMEOUT("the answer stood still for too long", true),
  STEP_TIMEOUT("the step took too long", true),
  TOTAL_TIMEOUT("the request took too long", true);

  private final String text;
  private final boolean timeout;

  AbortReason(String text, boolean late) {
    this.text = text;
    this.timeout = late;
  }

  String text() {
    return text;
  }

  /** Whether the worker is to blame: it was too slow. */
  boolean isTimeout() {
    return timeout;
  }
}
