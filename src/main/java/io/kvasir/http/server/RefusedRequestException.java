package io.kvasir.http.server;

/** A request that is refused for how it was sent, with an answer; the connection is closed after it. */
final class RefusedRequestException extends Exception {
  private static final long serialVersionUID = 1L;

  private final int status;

  /**
   * A refusal, without a stack trace: clients cause it.
   *
   * @param status of the answer, 400..599
   * @param message in plain words, fit for the client
   */
  RefusedRequestException(int status, String message) {
    super(message, null, false, false);
    this.status = status;
  }

  int status() {
    return status;
  }

  /** The words for the client. */
  String message() {
    return String.valueOf(getMessage());
  }
}
