package io.kvasir.http.server;

/** A request that is refused for how it was sent, with an answer; the connection is closed after it. */
final class RefusedRequestException extends Exception {
  private static final long serialVersionUID = 1L;

  private final transient RequestFailure failure;

  /**
   * A refusal for which no limit of the server's is to blame.
   *
   * @param status of the answer, 400..599
   * @param message in plain words, fit for the client
   */
  RefusedRequestException(int status, String message) {
    this(new RequestFailure(status, message));
  }

  /** A refusal, without a stack trace: clients cause it. */
  RefusedRequestException(RequestFailure failure) {
    super(failure.message(), null, false, false);
    this.failure = failure;
  }

  /** What the client is told. */
  RequestFailure failure() {
    return failure;
  }
}
