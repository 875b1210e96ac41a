package io.kvasir.execution;

/** Why somebody else ended a call. */
enum Stop {
  CLIENT_LEFT("the client left", false),
  /** Another step of the same plan failed, or another worker was faster. */
  NOT_NEEDED("not needed any more", false),
  FIRST_BYTE("no first byte in time", true),
  IDLE("the answer stood still for too long", true),
  STEP("the step took too long", true),
  TOTAL("the request took too long", true);

  private final String text;
  private final boolean late;

  Stop(String text, boolean late) {
    this.text = text;
    this.late = late;
  }

  String text() {
    return text;
  }

  /** Whether the worker is to blame: it was too slow. */
  boolean late() {
    return late;
  }
}
