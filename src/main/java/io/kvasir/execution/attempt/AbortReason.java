package io.kvasir.execution.attempt;

/** Why an attempt was aborted from outside. */
public enum AbortReason {
  CLIENT_CANCELLED("the client cancelled", false),
  /** The cell took the request back for a more urgent one. */
  PREEMPTED("taken back for a more urgent request", false),
  /** Another step of the same plan failed, or another worker was faster. */
  NOT_NEEDED("not needed any more", false),
  FIRST_BYTE_TIMEOUT("no first byte in time", true),
  IDLE_TIMEOUT("the answer stood still for too long", true),
  /** Nothing came while the worker was out of service and others could serve. */
  STRANDED("nothing came of it, and its worker is out of service", true),
  STEP_TIMEOUT("the step took too long", true),
  /** The worker waits for KV blocks that nobody will hand over. */
  PREFILLER_LOST("the worker that was to hand the prompt over is gone", true),
  TOTAL_TIMEOUT("the request took too long", true);

  private final String text;
  private final boolean timeout;

  AbortReason(String text, boolean timeout) {
    this.text = text;
    this.timeout = timeout;
  }

  String text() {
    return text;
  }

  /** Whether the worker was too slow, so that the abort counts as a failure. */
  boolean isTimeout() {
    return timeout;
  }
}
