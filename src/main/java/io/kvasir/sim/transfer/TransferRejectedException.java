package io.kvasir.sim.transfer;

/** A request's transfer parameters cannot be served. */
public final class TransferRejectedException extends Exception {
  private static final long serialVersionUID = 1;

  private final int status;

  TransferRejectedException(int status, String message) {
    super(message, null, false, false);
    this.status = status;
  }

  /** HTTP status of the answer. */
  public int status() {
    return status;
  }
}
